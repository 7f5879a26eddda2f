import Foundation
import StetLMDB
import Testing

struct ChecksumTests {
    private static let otherSeed: UInt64 = 0x9e37_79b1_85eb_ca8d

    /// Byte n of the input is 131 n + 7, modulo 256; the length is the index in a table.
    private static func input(_ byteCount: Int) -> [UInt8] {
        (0..<byteCount).map { UInt8(truncatingIfNeeded: $0 * 131 + 7) }
    }

    private func hash(_ bytes: [UInt8], seed: UInt64 = 0) -> UInt64 {
        bytes.withUnsafeBytes { Checksum.hash($0, seed: seed) }
    }

    @Test func hashesOfLengths0To100AreThoseOfTheReferenceImplementation() {
        let inputs = (0...100).map(Self.input)
        #expect(inputs.map { hash($0) } == Self.seedZero)
        #expect(inputs.map { hash($0, seed: Self.otherSeed) } == Self.seedOther)
    }

    @Test func theEmptyInputHasTheHashOfTheSpecificationWithAndWithoutAnAddress() {
        #expect(hash([]) == 0xef46_db37_51d8_e999)
        #expect(
            Checksum.hash(UnsafeRawBufferPointer(start: nil, count: 0), seed: 0)
                == 0xef46_db37_51d8_e999)
    }

    @Test func theHashDoesNotDependOnWhereTheBytesLie() {
        let bytes = Self.input(100)
        for shift in 0..<9 {
            let shifted = [UInt8](repeating: 0xaa, count: shift) + bytes
            let hash = shifted.withUnsafeBytes {
                Checksum.hash(UnsafeRawBufferPointer(rebasing: $0[shift...]), seed: 0)
            }
            #expect(hash == Self.seedZero[100], "shift \(shift)")
        }
    }

    @Test func combiningDependsOnEachWord() {
        let words: [UInt64] = [0, 1, 2, .max]
        var seen: Set<UInt64> = []
        for one in words {
            for two in words {
                for three in words { seen.insert(Checksum.combine(one, two, three)) }
            }
        }
        #expect(seen.count == 64)
    }

    // Computed with the reference implementation: xxhash.xxh64(bytes, seed) of the Python package
    // xxhash 3.

    private static let seedZero: [UInt64] = [
        0xef46_db37_51d8_e999, 0xa96c_7f0c_e858_bbb7, 0xc22c_6a70_ad56_bba6, 0xbed4_3740_ee63_32bb,
        0xfa21_2ae4_4b3b_b23d, 0xd339_dcc9_ac8e_6776, 0x71ca_bdc8_5da7_ffa0, 0x2744_460d_d675_d2c0,
        0x994b_676b_71ce_94dd, 0x572b_84c1_8b98_3af8, 0x0828_3fd4_0ee4_f8c9, 0x97f0_78da_7a1a_590c,
        0xb92f_588c_e720_786e, 0xdadc_8a62_55b4_829b, 0x5742_6937_7227_d80a, 0x09e6_451e_d2ff_8b1d,
        0x94ad_0095_e72b_24d5, 0x1464_f2ef_f23b_5fe1, 0x712c_39f6_d1ed_935e, 0x83ef_9c75_8393_e89d,
        0x6782_2fa8_0e0c_8933, 0xfa6d_e19e_99ff_8d43, 0xa8d0_ae04_d798_85f2, 0xcf65_b695_86b0_5fab,
        0x0a3b_0194_f3af_e0b8, 0xe0fd_072f_ff81_1c86, 0xc4f7_372a_7fb8_f247, 0xfee2_6cac_05ae_ecf0,
        0x01a6_f3d2_24fa_7d3b, 0x161a_3bc9_8afc_f092, 0x3f87_96d7_bfaa_aa08, 0x6711_d55e_306b_5d8f,
        0x07f7_b8e3_bc5d_6e25, 0x09f8_5eeb_4e1c_be9f, 0x3528_4e7f_91dd_1ae5, 0x25cc_31e4_544b_c8c9,
        0xe7ac_6252_22f2_b655, 0x1d8c_3a22_1508_5739, 0x1fb3_064e_d36c_675f, 0xb13c_137a_0fb7_01c3,
        0xd251_5017_7ba4_6490, 0x3ad8_bb27_79d9_285e, 0xfe4d_dab6_e3d7_5ddc, 0x9d34_0603_aa03_cc62,
        0xd02b_2028_c27a_5329, 0xff59_426b_0066_066b, 0x713a_1142_07f6_00e2, 0x79bd_9d6d_d8c1_5570,
        0x2947_de5e_3a6a_fece, 0x43f1_e784_0399_12d3, 0x072f_a996_8401_e9c7, 0xc3c4_ff0d_8f66_e206,
        0x0efb_c393_9fa0_5814, 0x42be_842d_0902_d7a7, 0x8a78_b907_c424_dc46, 0x8f8d_c5b0_7f6d_48ed,
        0xa2ac_f5b4_31db_2e52, 0x4032_00f5_d035_4116, 0xc326_a3d6_5678_339b, 0xa53b_8e5b_c9ff_65a4,
        0x4cce_586d_8aca_19e5, 0xbd3b_d334_86af_6dc6, 0x4149_dd40_3b20_a2dc, 0xb7c9_968c_066c_b6a5,
        0x50d4_159a_0411_632e, 0xd277_176b_ff86_3efc, 0x578b_a93d_aaaa_4333, 0x5c44_ab49_f377_e73f,
        0x0074_fd38_e968_c15b, 0xdd2a_a690_f532_12c8, 0xa4b1_256e_6fd1_d806, 0x363a_593d_c9d7_38d1,
        0xcd82_801d_226e_b2a5, 0x5d19_a4c3_f67b_2bea, 0xbb7d_b43e_a46e_9a29, 0xd608_a44e_07fe_8624,
        0x869e_1166_4e92_c3b4, 0x162c_e643_1a7e_da2a, 0xf3cb_7538_a896_12bb, 0xc3f3_dc0b_f60f_d094,
        0x1653_8439_a19a_b93e, 0x71bf_4a99_7e4b_c698, 0x81f5_f158_a176_9c15, 0x01f5_909a_472f_ea86,
        0x6187_bf0b_f8df_a176, 0x411b_4022_bb18_1b45, 0x8eb6_2f30_a8fa_66a5, 0xf4b4_3a97_d47f_5f98,
        0x91b6_1791_02c2_21c2, 0xe1a6_e5a7_b859_6fdd, 0xbda4_67ab_983b_5874, 0x8108_2eee_7357_b6b0,
        0xf8f1_612f_d1c1_0a43, 0x44b5_dc96_0d90_d5bd, 0x6490_4fdd_7296_cc2e, 0x928c_35b9_89d3_c594,
        0x18c8_f362_eb73_5341, 0x7683_defa_1456_dab5, 0xa4d9_f00e_9f94_203c, 0x285a_4a54_a4a8_4ab4,
        0x9dda_da11_d3dc_2d8f,
    ]

    private static let seedOther: [UInt64] = [
        0x0b30_3d92_0ec3_49df, 0x7634_9a43_0e97_f416, 0xd68d_54a8_3686_27e9, 0x5bde_7cc0_c6b9_fda0,
        0xbeaa_34e3_2eee_8b3d, 0x90c4_4c08_6d9c_dc99, 0x7029_37f0_6b64_6b46, 0xa6f6_b893_5b53_adee,
        0xa2f8_d42e_3c57_a4ff, 0x20e3_6a0d_d2f3_9734, 0x32cb_90a6_a417_91b5, 0xd47d_6410_0987_8d9a,
        0xe7d6_8f0f_10b6_8149, 0x30bc_cebb_47d8_e985, 0xc80b_c039_d860_7a03, 0x97ae_f7b4_3988_da50,
        0xb113_4273_02bb_8a57, 0x6e69_1936_9ad9_0d47, 0x1abd_a981_32db_3bf1, 0x667b_3788_d8ff_9082,
        0x02b8_8fca_b4f9_48c2, 0x1f95_6f88_13c3_2e72, 0x1156_294c_d580_2f34, 0x5b0d_1918_a3f1_1d85,
        0x7a77_8ee6_8953_fb03, 0x0bf2_78f6_696e_dff2, 0x2102_f0d6_8509_4656, 0x2a83_0503_2cb7_451e,
        0xb378_60c6_b82d_7050, 0xe2e8_8d29_0bc7_5ea0, 0x6e32_001d_71c4_9d1f, 0x1bb0_ceeb_5eb5_5765,
        0xceaa_085e_9fe5_8428, 0x6613_e855_b6d5_189a, 0xd470_30f5_e84a_3482, 0xdc07_c170_fc44_68f0,
        0x3ab4_649a_5a8d_5178, 0xce76_b771_1b7c_7c43, 0x0686_99cd_1038_9b08, 0x1fee_908c_0fec_059e,
        0x925b_6b3f_9688_a134, 0xe0a2_b8c2_ef81_fd7a, 0xd277_1332_598d_3feb, 0x336b_564f_d332_4851,
        0x7e6e_c1f5_b292_71a3, 0xc8e8_6417_b305_3fc6, 0xe718_110f_9ccb_309b, 0xe57f_b03c_1799_6b79,
        0x342c_1655_9073_ad0a, 0xd070_ffba_e0a1_8b10, 0xb33f_54fb_1fc0_9efb, 0xa2e7_6a7d_b89e_0159,
        0x6999_6fcd_41c4_8aa5, 0xd68e_d271_4c1a_8a9f, 0xb75b_3dc9_8fa7_15c1, 0xe335_398a_1ec8_56b9,
        0xfc67_5ea4_6da5_6e04, 0x31eb_12c6_88ea_f9f3, 0x6c72_5dd7_fb34_1c0b, 0x5ec3_ae26_b813_7e47,
        0x1d75_e4f6_3918_5ffe, 0xc37b_ef85_041a_60c8, 0x99f5_9b8f_25a3_50aa, 0xbc70_b2d1_f0e5_6425,
        0xeb82_8ec9_fd6b_56c5, 0xd826_d8dd_1b0f_64dd, 0x2d86_dd66_97f7_c5c0, 0x267d_8a1f_52c1_dca6,
        0x0ae3_238d_a204_6170, 0x7154_db75_5ec9_6d60, 0xf18c_11ee_542f_3bb2, 0x5e3e_0e7c_5c26_d746,
        0xf008_0428_c38c_c926, 0x4469_132d_eb5f_ad9a, 0x36c8_4cff_4320_07f5, 0x978a_62ce_80c2_fc71,
        0xf04c_5bfc_4060_0667, 0x4dc6_9414_81e6_7629, 0xe87c_5366_6ba7_6bae, 0x6904_0543_a9c0_fb2e,
        0x7d14_2acf_f4ac_e0b9, 0x10e3_f177_d759_c41c, 0xd64c_25a8_415f_f770, 0xf1a9_f346_0464_aba3,
        0x420e_cb44_fa9a_b81f, 0x5fc5_29b2_05ab_800b, 0xc94f_8460_b352_b4fb, 0x96e2_1c0f_3311_7cdb,
        0x4f72_7f60_a51c_f2d2, 0xe94e_98cd_7ea7_844d, 0x962b_afa9_1cc6_698d, 0x84b7_24aa_3952_28ee,
        0xafb2_681d_bec2_94a3, 0xdbf5_fe4c_be19_d0ec, 0x5026_a387_9e65_9e3a, 0x730d_e6a6_c1c5_3187,
        0x8f02_c474_a312_1f11, 0x49e5_50ce_4c51_5b01, 0xf576_193e_c920_088d, 0xab6a_727b_0dd8_b669,
        0x7ee9_617e_3667_0e3a,
    ]
}
