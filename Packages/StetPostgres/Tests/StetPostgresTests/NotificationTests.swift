@testable import StetPostgres
import Testing

struct NotificationTests {
    @Test(arguments: ["catalogue", "", "a store with spaces", "é\n"])
    func aTextIsReadAsItWasWritten(store: String) {
        let notification = Notification(store: store, sender: .max - 1)
        #expect(Notification(notification.text) == notification)
    }

    @Test(arguments: ["", "catalogue", " catalogue", "x catalogue", "-1 catalogue"])
    func anotherTextIsNone(text: String) {
        #expect(Notification(text) == nil)
    }
}
