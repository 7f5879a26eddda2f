/*
 * A journal that nodes share: see README.md in this folder.
 *
 * Entries are numbered as they are prepared, and a number stands for a hash: it covers the entry
 * before. Fences are numbered, too. Node 2 only follows. A node holds the right to write to its file
 * from the preparation of an entry to its commit there, so that it follows in between only after it
 * was overtaken.
 */

#ifndef COMMITS
#define COMMITS 2            /* saves of both nodes together */
#endif
#define ENTRIES (COMMITS + 2)
#define FENCES 3
#define WRITERS 2
#define NODES 3
#define LENGTH 8
#define AT(n, r) ((n) * LENGTH + (r))

/* Entries: the save, the entry before, and the revision. */
byte entries = 0;
byte saveOf[8];
byte before[8];
byte revisionOf[8];

/* The database: its entries by revision, its head, and its fence. */
byte journal[LENGTH];
byte revision = 0;
byte fence = 1;
byte fences = 1;             /* the fences that were used */
bool promoted;               /* a standby has replaced the primary */
bool wasLost[8];             /* entries that the primary had, and the standby not */

/* Requests on their way: the present one of each writer, and the last one that was given up. */
byte request[3];
byte requestFence[3];
#define LATE WRITERS
mtype = { none, yes, no };
mtype answer[WRITERS] = none;
byte hint = 0;               /* the entry of the last notification */

/* Nodes: the entries in their file by revision, the last one, and the fence that they know. */
byte state[24];
byte own[NODES];
byte known[WRITERS] = 1;
bool diverged[NODES];

/* Saves. */
byte saves = 0;
bool isVoid[8];              /* the caller was told that it was not made */

#define top(n) state[AT(n, own[n])]

/* What a node has is a history that was in the journal, and is there unless the database lost it;
   what follows a lost entry is lost. */
inline checkNode(n) {
    d_step {
        k = 1;
        do
        :: k <= own[n] ->
            assert(before[state[AT(n, k)]] == state[AT(n, k - 1)]);
            assert((k <= revision && journal[k] == state[AT(n, k)]) || wasLost[state[AT(n, k)]]);
            k++
        :: else -> break
        od;
        k = 0
    }
}

inline acknowledge(e) {
    d_step {
        assert(!isVoid[saveOf[e]]);
        assert((revision >= revisionOf[e] && journal[revisionOf[e]] == e) || wasLost[e])
    }
}

/* The revision of a save at a node; 0 when it has none. */
inline find(n, s, r) {
    d_step {
        r = own[n];
        do
        :: r > 0 && saveOf[state[AT(n, r)]] != s -> r--
        :: else -> break
        od
    }
}

/* Applies the next entries of the journal, or finds that they do not follow. */
inline follow(n) {
    d_step {
        if
        :: revision < own[n] -> diverged[n] = true
        :: revision == own[n] && journal[revision] != top(n) -> diverged[n] = true
        :: else
        fi;
        do
        :: !diverged[n] && revision > own[n] ->
            if
#ifdef FOLLOWED_BY_REVISION
            :: true ->
#else
            :: before[journal[own[n] + 1]] == top(n) ->
#endif
                state[AT(n, own[n] + 1)] = journal[own[n] + 1]; own[n]++
            :: else -> diverged[n] = true
            fi
        :: else -> break
        od
    }
    checkNode(n)
}

/* Makes sure that no request with an earlier fence will succeed. */
inline raiseFence(n) {
    d_step {
        fences++;
#ifdef COUNTED_FENCES
        fence++;
#else
        fence = fences;
#endif
        known[n] = fence
    }
}

/* Gives up the present request, which may arrive late. */
inline giveUp(n) {
    d_step {
        if
        :: request[n] != 0 ->
            request[LATE] = request[n]; requestFence[LATE] = requestFence[n];
            request[n] = 0; requestFence[n] = 0
        :: else
        fi;
        answer[n] = none
    }
}

proctype Database() {
    byte i; byte e; byte k; byte p;
    do
    :: atomic { request[0] != 0 || request[1] != 0 || request[2] != 0 ->
            if
            :: request[0] != 0 -> i = 0
            :: request[1] != 0 -> i = 1
            :: request[2] != 0 -> i = 2
            fi;
            e = request[i]; request[i] = 0;
            if
#ifdef APPENDED_WITHOUT_COMPARING
            :: true -> revision = revisionOf[e] - 1;
#else
#ifdef COMPARED_BY_REVISION
            :: revision + 1 == revisionOf[e] && requestFence[i] == fence ->
#else
            :: revision + 1 == revisionOf[e] && journal[revision] == before[e] && requestFence[i] == fence ->
#endif
#endif
                d_step {
                    assert(journal[revision] == before[e]);
                    assert(!isVoid[saveOf[e]]);
                    p = 1;
                    do
                    :: p <= revision -> assert(saveOf[journal[p]] != saveOf[e]); p++
                    :: else -> break
                    od;
                    revision++; journal[revision] = e; p = 0
                };
#ifdef NOTIFICATION_AS_DATA
                if :: hint = e :: true fi;
#endif
                if :: i < WRITERS -> answer[i] = yes :: else fi
            :: else ->
                if :: i < WRITERS -> answer[i] = no :: else fi
            fi;
            requestFence[i] = 0; i = 0; e = 0
        }
    :: atomic { !promoted ->
            /* A standby takes over: it may lack the last entries and fences. */
            promoted = true;
            k = revision;
            do
            :: k > 0 -> wasLost[journal[k]] = true; journal[k] = 0; k--
            :: break
            od;
            revision = k; k = 0;
            do
            :: fence > 1 -> fence--
            :: break
            od;
            d_step {
                /* Its connections are others. */
                request[0] = 0; request[1] = 0; request[2] = 0;
                requestFence[0] = 0; requestFence[1] = 0;
                requestFence[2] = 0;
                answer[0] = none; answer[1] = none
            }
        }
    od
}

proctype Node(byte n) {
    byte s; byte e; byte r; byte k; byte head; byte last;
next:
    atomic { s = 0; e = 0; r = 0; head = 0; last = 0 };
    if
    :: atomic { saves < COMMITS -> saves++; s = saves }
    :: saves == COMMITS -> goto stop
    fi;
prepare:
    if
    :: atomic { diverged[n] -> goto stop }
    :: atomic { !diverged[n] ->
            find(n, s, r);
#ifdef RETRIED_BLINDLY
            r = 0;
#endif
            if
            :: r > 0 -> acknowledge(state[AT(n, r)]); r = 0; goto next
            :: r == 0 && entries == ENTRIES -> goto stop
            :: r == 0 && entries < ENTRIES ->
                entries++; e = entries;
                saveOf[e] = s; before[e] = top(n); revisionOf[e] = own[n] + 1
            fi
        }
    fi;
send:
    atomic { request[n] = e; requestFence[n] = known[n]; answer[n] = none };
#ifdef ACKNOWLEDGED_EARLY
    atomic { own[n]++; state[AT(n, own[n])] = e; acknowledge(e); checkNode(n) };
#endif
    if
    :: atomic { answer[n] == yes -> answer[n] = none };
        goto apply
    :: atomic { answer[n] == no -> answer[n] = none; known[n] = fence;
            head = journal[revision]; last = revision }
    :: atomic { fences < FENCES -> giveUp(n);
#ifdef NO_FENCE
            known[n] = fence;
#else
            raiseFence(n);
#endif
            head = journal[revision]; last = revision }
    :: atomic { giveUp(n) }; goto restart
    fi;
    /* The head after the request was refused or given up. */
    if
    :: atomic { last + 1 == revisionOf[e] && head == before[e] -> head = 0; last = 0 };
        goto send
    :: atomic { last >= revisionOf[e] && journal[revisionOf[e]] == e -> head = 0; last = 0 };
        goto apply
    :: atomic { else -> head = 0; last = 0; e = 0; follow(n) };
        goto prepare
    fi;
apply:
    if
    :: atomic { own[n]++; state[AT(n, own[n])] = e; checkNode(n); acknowledge(e) };
        goto next
    :: goto restart
    fi;
restart:
    /* The node gives the save up, or is killed: the caller saves again with the id, or asks for the
       outcome. */
    atomic { e = 0; follow(n) };
    if
    :: goto prepare
    :: goto settle
    fi;
settle:
    if
    :: atomic { !diverged[n] && fences < FENCES ->
#ifdef NO_FENCE
            known[n] = fence;
#else
            raiseFence(n);
#endif
        }
    :: diverged[n] || fences == FENCES -> goto stop
    fi;
    atomic { follow(n) };
    if
    :: atomic { diverged[n] -> goto stop }
    :: atomic { !diverged[n] ->
            find(n, s, r);
            if
            :: r > 0 -> acknowledge(state[AT(n, r)]); r = 0
            :: r == 0 -> isVoid[s] = true
            fi };
        goto next
    fi;
stop:
    skip
}

proctype Follower() {
    byte k;
    do
    :: atomic { !diverged[2] && (hint != 0 || journal[revision] != top(2)) ->
#ifdef NOTIFICATION_AS_DATA
            if
            :: hint != 0 -> own[2]++; state[AT(2, own[2])] = hint; hint = 0; checkNode(2)
            :: else -> follow(2)
            fi
#else
            follow(2)
#endif
        }
    :: diverged[2] -> break
    od
}

init {
    d_step {
        /* A first commit, of a node that was faster than the others. */
        entries = 1; saveOf[1] = 7; revisionOf[1] = 1;
        journal[1] = 1; revision = 1;
        state[AT(0, 1)] = 1; own[0] = 1
    };
    run Database(); run Node(0); run Node(1); run Follower()
}
