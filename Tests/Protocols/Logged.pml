/*
 * Commits in a log, with LMDB's pages behind it: see README.md in this folder.
 *
 * LMDB's trees are numbered by their transactions. Of each the model keeps the last commit in it,
 * whether its pages were synced, and whether one was taken for a later tree: LMDB takes pages of trees
 * before every open read. A kill ends the owner; a power cut ends everybody.
 */

#ifndef COMMITS
#define COMMITS 3
#endif
#ifndef CRASHES
#define CRASHES 2
#endif
#define GENERATIONS 16
#define TREES 16
#define NONE 255

/* LMDB: the last transaction as processes see it, and of each transaction's tree the last commit in
   it, whether its pages were synced, and whether some were taken for a later tree. */
byte tree = 1;
byte last[TREES];
bool synced[TREES];
bool lost[TREES];

/* Commits that were tried: the commit before, and the last one that was acknowledged. */
byte attempts = 0;
byte before[10];
byte acknowledged = 0;
bool isVoid[10];              /* was not in the state after a recovery or a take-over */

/* Slots by generation: tree and last commit, and the number of the log. Written once, before anybody
   can read it. Generations are counted through all logs here; in the code each log has its own. */
byte slotTree[GENERATIONS];
byte slotLast[GENERATIONS];
byte slotLog[GENERATIONS];

/* The mark of the data file, in the page cache and on the disk: the number of its log; 0 for none. */
byte mark = 0;
byte markOnDisk = 0;
byte logs = 0;               /* the numbers of logs that were used */
byte generations = 0;        /* the generations that were used */

/* The heads of the two logs: the generation in the page cache, and on the disk. */
byte head[2];
byte headOnDisk[2];

/* Frames, in the page cache and on the disk: the generation and the commit. */
#define PLACES 4
byte frameGeneration[8];
byte frameCommit[8];
byte diskGeneration[8];
byte diskCommit[8];
#define AT(log, place) ((log) * PLACES + (place))

/* The owner. */
byte owner = 0;              /* the incarnation that lives */
byte generation;             /* of the log that frames go to */
byte place;                  /* of the next frame */
byte pin = NONE;             /* the tree of the slot that a power cut would leave */
byte nextPin = NONE;         /* the tree of the checkpoint on its way */
bool locked;                 /* the right to write */
bool checkpointing;
bool readersOpen;            /* another process has the file open */
byte crashes = 0;
bool isSettled;              /* recovery or take-over has ended */
bool isLogging;              /* the log has begun */

inline syncLog(log) {
    d_step {
        headOnDisk[log] = head[log];
        diskGeneration[AT(log, 0)] = frameGeneration[AT(log, 0)];
        diskCommit[AT(log, 0)] = frameCommit[AT(log, 0)];
        diskGeneration[AT(log, 1)] = frameGeneration[AT(log, 1)];
        diskCommit[AT(log, 1)] = frameCommit[AT(log, 1)];
        diskGeneration[AT(log, 2)] = frameGeneration[AT(log, 2)];
        diskCommit[AT(log, 2)] = frameCommit[AT(log, 2)];
        diskGeneration[AT(log, 3)] = frameGeneration[AT(log, 3)];
        diskCommit[AT(log, 3)] = frameCommit[AT(log, 3)];
    }
}

/* Commits a tree in LMDB: pages of trees before every open read are taken. */
inline commitTree(commit) {
    d_step {
        k = 0;
        do
        :: k < tree && (pin == NONE || k < pin) && (nextPin == NONE || k < nextPin) ->
            lost[k] = true; k++
        :: else -> break
        od;
        tree++;
        assert(tree < TREES);
        last[tree] = commit;
        synced[tree] = false;
        lost[tree] = false;
        k = 0
    }
}

inline syncTrees() {
    d_step {
        k = 0;
        do
        :: k <= tree -> synced[k] = true; k++
        :: else -> break
        od;
        k = 0
    }
}

/* Every acknowledged commit is in the last tree, in its place, and none that was missing before. */
inline checkCommits() {
    d_step {
        k = last[tree];
        do
        :: k > 0 -> assert(!isVoid[k]); k = before[k]
        :: else -> break
        od;
        k = last[tree];
        do
        :: k > acknowledged -> k = before[k]
        :: else -> break
        od;
        assert(k == acknowledged);
        k = 0
    }
}

/* Notes the commits that whoever asks now is told of as not made. */
inline noteVoid() {
    d_step {
        for (k : 1 .. attempts) { isVoid[k] = true }
        k = last[tree];
        do
        :: k > 0 -> isVoid[k] = false; k = before[k]
        :: else -> break
        od;
        k = 0
    }
}

/* The generation of the newest slot of the marked log that a process can read. */
#define isOfLog(h) ((h) != NONE && slotLog[h] == mark)
inline newestSlot(n) {
    d_step {
        n = NONE;
        if :: isOfLog(head[0]) -> n = head[0] :: else fi;
        if :: isOfLog(head[1]) && (n == NONE || head[1] > n) -> n = head[1] :: else fi;
        assert(n != NONE)
    }
}

inline syncMark() { d_step { markOnDisk = mark } }

/* Writes the slot of a checkpoint into the other log than the slot's before. */
inline writeSlot(n) {
    d_step { head[n % 2] = n }
}

/* True when a frame belongs to a log and continues the tree. */
#ifdef WEAK_FRAMES
#define ofGeneration(g, i) true
#else
#define ofGeneration(g, i) (frameGeneration[AT((g) % 2, i)] == (g) && slotLog[g] == mark)
#endif
#define fits(g, i) (i < PLACES && ofGeneration(g, i) && frameCommit[AT((g) % 2, i)] != 0 && before[frameCommit[AT((g) % 2, i)]] == last[tree])

proctype Checkpointer(byte me) {
    byte k; byte g; byte t;
    {
        do
        :: atomic { owner == me && isLogging && !locked && !checkpointing && tree > pin ->
                /* Under the right to write: the tree is pinned, and the next log begins. */
                checkpointing = true;
                nextPin = tree;
                generations++; generation = generations;
                assert(generation < GENERATIONS);
                slotTree[generation] = tree; slotLast[generation] = last[tree];
                slotLog[generation] = mark;
                place = 0; g = generation;
#ifdef EARLY_UNPIN
                pin = NONE;
#endif
            };
#ifdef SLOT_BEFORE_SYNC
            atomic { owner == me -> writeSlot(g) };
            atomic { owner == me -> syncLog(g % 2) };
#endif
#ifndef NO_SYNC
            atomic { owner == me -> syncTrees() };
#endif
            atomic { owner == me -> writeSlot(g) };
            atomic { owner == me -> syncLog(g % 2) };
            atomic { owner == me -> pin = nextPin; nextPin = NONE; checkpointing = false }
        od
    } unless { owner != me }
}

/* Ends the log: LMDB's file alone has everything. */
inline leave(me) {
#ifdef MARK_REMOVED_EARLY
    atomic { owner == me -> mark = 0 };
    atomic { owner == me -> syncMark() };
#endif
#ifndef LEFT_UNSYNCED
    atomic { owner == me -> syncTrees() };
#endif
    atomic { owner == me -> mark = 0 };
    atomic { owner == me -> syncMark() };
    atomic { owner == me -> pin = NONE; isLogging = false }
}

proctype Owner(byte me) {
    byte k; byte n; byte i; byte g; byte c; byte first;
    {
        if
        :: mark == 0 -> assert(!lost[tree]); checkCommits()
        :: mark != 0 && !readersOpen ->
            /* Recovery, alone. The slot is made durable before any page is written. */
            newestSlot(n);
#ifndef SLOT_NOT_SYNCED
            atomic { owner == me -> syncLog(n % 2) };
#endif
            atomic { owner == me ->
                assert(!lost[slotTree[n]]);
                tree = slotTree[n];
                assert(last[tree] == slotLast[n]);
#ifndef NO_PIN
                pin = tree;
#endif
                g = n; i = 0
            };
            do
            :: atomic { owner == me && fits(g, i) ->
                    c = frameCommit[AT(g % 2, i)];
                    commitTree(c);
                    i++ }
            :: atomic { owner == me && !fits(g, i) ->
                    if
                    :: g == n -> g = n + 1; i = 0
                    :: else -> break
                    fi }
            od;
            checkCommits();
            leave(me)
        :: mark != 0 && readersOpen ->
            /* Take-over: other processes see the state of the owner that has died. */
            checkCommits();
            leave(me)
        fi;
        atomic { owner == me -> isSettled = true; noteVoid() };
        do
        :: attempts < COMMITS && !isLogging ->
            /* A log begins. The mark of the one before may only be gone from the page cache. */
#ifndef ENTERED_UNSYNCED
            atomic { owner == me -> syncTrees(); syncMark() };
#endif
            /* Its first slot, then the mark. */
            atomic { owner == me ->
                logs++; generations++; generation = generations;
#ifdef REUSED_LOG
                logs = 1;
#endif
                assert(generation < GENERATIONS);
                slotTree[generation] = tree; slotLast[generation] = last[tree];
                slotLog[generation] = logs;
                head[generation % 2] = generation; head[(generation + 1) % 2] = NONE;
                place = 0; pin = tree; first = attempts
            };
            atomic { owner == me -> syncLog(generation % 2) };
            atomic { owner == me -> mark = logs };
#ifndef MARK_NOT_SYNCED
            atomic { owner == me -> syncMark() };
#endif
            atomic { owner == me -> isLogging = true }
        :: attempts < COMMITS && isLogging ->
            if
            :: atomic { owner == me && !locked && place < PLACES ->
                locked = true; attempts++; c = attempts;
                before[c] = last[tree];
                frameGeneration[AT(generation % 2, place)] = generation;
                frameCommit[AT(generation % 2, place)] = c
               };
#ifdef EARLY_ACKNOWLEDGEMENT
               atomic { owner == me -> acknowledged = c };
#endif
               atomic { owner == me -> syncLog(generation % 2) };
               atomic { owner == me -> commitTree(c); place++ };
               atomic { owner == me -> acknowledged = c; locked = false }
            :: attempts > first ->
               /* A commit that is too long for the log, or the file is closed. */
               atomic { owner == me && !locked && !checkpointing -> locked = true };
               leave(me);
               atomic { owner == me -> locked = false }
            fi
        :: attempts == COMMITS -> break
        od
    } unless { owner != me }
}

inline end() {
    owner = 0; pin = NONE; nextPin = NONE; locked = false; checkpointing = false;
    isSettled = false; isLogging = false
}

/* What a power cut leaves of a write that was not synced: the old bytes, the new ones, or neither. */
inline remain(cached, onDisk, neither) {
    if
    :: cached == onDisk
    :: cached != onDisk -> cached = onDisk
    :: cached != onDisk -> onDisk = cached
    :: cached != onDisk -> cached = neither; onDisk = neither
    fi
}

init {
    byte incarnation = 1; byte k; byte f;
    /* A store without a log. */
    d_step {
        head[0] = NONE; headOnDisk[0] = NONE; head[1] = NONE; headOnDisk[1] = NONE;
        synced[1] = true; synced[0] = true
    };
    owner = 1;
    run Owner(1); run Checkpointer(1);
    do
    :: crashes < CRASHES ->
        if
        :: atomic { /* A kill; others may have the file open, unless it was being recovered. */
                crashes++;
                if
                :: readersOpen || isSettled -> readersOpen = true
                :: readersOpen = false
                fi;
                end()
            }
        :: atomic { /* A power cut. */
                crashes++; end(); readersOpen = false;
                remain(head[0], headOnDisk[0], NONE);
                remain(head[1], headOnDisk[1], NONE);
                /* It is in both meta pages: one of them is whole. */
                if :: mark = markOnDisk :: markOnDisk = mark fi;
                f = 0;
                do
                :: f < 8 ->
                    if
                    :: frameGeneration[f] == diskGeneration[f] && frameCommit[f] == diskCommit[f]
                    :: else ->
                        if
                        :: frameGeneration[f] = diskGeneration[f]; frameCommit[f] = diskCommit[f]
                        :: diskGeneration[f] = frameGeneration[f]; diskCommit[f] = frameCommit[f]
                        :: frameGeneration[f] = 0; frameCommit[f] = 0;
                            diskGeneration[f] = 0; diskCommit[f] = 0
                        fi
                    fi;
                    f++
                :: else -> break
                od;
                f = 0;
                k = 0;
                do
                :: k <= tree ->
                    if :: !synced[k] -> lost[k] = true :: else fi;
                    k++
                :: else -> break
                od;
                k = 0
            }
        fi;
        incarnation++;
        owner = incarnation;
        run Owner(incarnation); run Checkpointer(incarnation)
    :: crashes == CRASHES -> break
    od
}
