// From sums to scores, and the total order of records: the best two and the ties of each query.

__device__ __forceinline__ int clamp_score(i64 x) { return (int)min(max(x, (i64)LOWEST), (i64)2147483647); }

// What the look over a block needs to know of its query, in 32 bits: 64 cost twice the instructions.
struct Bar {
    i64 start, q;
    int size, hole, cap;
};

__device__ __forceinline__ Bar bar_of(const Index &ix, i64 b, i64 q, i64 exclude, i64 cap) {
    Bar bar;
    bar.start = ix.first_record + b * BLOCK;
    bar.q = q;
    bar.size = (int)min((i64)BLOCK, ix.n_records - b * BLOCK);
    const i64 hole = exclude - bar.start;
    bar.hole = hole >= 0 && hole < bar.size ? (int)hole : -1;
    bar.cap = clamp_score(cap);
    return bar;
}

// Score of record k of the block, from its sum: all facts held, the record's factor, the cap.
__device__ __forceinline__ int finish(int sum, int k, const Bar &bar, const Plan &plan, const Shared &s) {
#if COMBINE == 1
    if (s.held[k] < plan.n_known[bar.q]) sum = 0;
#endif
#if FACTOR && COMBINE == 0
    if (sum != 0) sum = (int)__double2ll_rn((double)sum * fabs(plan.factor[bar.start + k]));
#endif
    return min(sum, bar.cap);
}

__device__ __forceinline__ bool allowed(int k, const Bar &bar, const Plan &plan) {
    if (k == bar.hole) return false;
#if FILTERED
    const i64 record = bar.start + k;
    return plan.low[bar.q] <= plan.lengths[record] && plan.lengths[record] <= plan.high[bar.q];
#else
    return true;
#endif
}

struct Entrant {
    int score;
    u64 key;
    i64 record;
};

__device__ __forceinline__ u64 tie_key(i64 record, i64 q, const Plan &plan) {
#if TIE == 1
    return (u64)plan.lengths[record];
#elif TIE == 2
    u64 x = (u64)record * 0x9E3779B97F4A7C15ULL + plan.salt[q];
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
    // a random key never tells tied records apart: RANDOM_KEY in partials.py
    return ((x ^ (x >> 31)) >> 1) | (1ULL << 63);
#else
    return 0;
#endif
}

// The total order: score falling, tie key rising, record rising; nobody (-1) comes last.
__device__ __forceinline__ bool before(const Entrant &a, const Entrant &b) {
    if (a.record < 0 || b.record < 0) return a.record >= 0;
    if (a.score != b.score) return a.score > b.score;
    if (a.key != b.key) return a.key < b.key;
    return a.record < b.record;
}

// Whether two records tie: same score, and same length where the shorter record comes first.
__device__ __forceinline__ bool tied_with(const Entrant &a, const Entrant &b) {
    return a.record >= 0 && b.record >= 0 && a.score == b.score && (TIE != 1 || a.key == b.key);
}

// The first two of each warp, and how many of its records tie with the first.
__shared__ Entrant s_one[WARPS], s_two[WARPS];
__shared__ int s_tied[WARPS];

// First of a warp's entrants, on all its lanes.
__device__ Entrant first_of_warp(Entrant e) {
    for (int d = 16; d > 0; d >>= 1) {
        Entrant o;
        o.score = __shfl_xor_sync(ALL, e.score, d);
        o.key = __shfl_xor_sync(ALL, e.key, d);
        o.record = __shfl_xor_sync(ALL, e.record, d);
        if (before(o, e)) e = o;
    }
    return e;
}

// Best and second, of which an entrant may become one.
__device__ __forceinline__ void insert(const Entrant &e, Entrant &best, Entrant &second) {
    if (before(e, best)) {
        second = best;
        best = e;
    } else if (before(e, second)) {
        second = e;
    }
}

// The warp's first two records with at least the score `goal`, for enlist(). `top` is the thread's highest score.
__device__ __forceinline__ void promote(const Plan &plan, const Shared &s, const Bar &bar, int top, int goal) {
    Entrant one = {LOWEST, 0, -1}, two = {LOWEST, 0, -1};
    int tied = 0;
    const int4 *acc4 = (const int4 *)s.acc;
    if (__any_sync(ALL, top >= goal)) {
        // a thread looks at the same records as in look(): most have seen that none of theirs reaches the goal
        for (int k4 = threadIdx.x; top >= goal && k4 < (bar.size + 3) / 4; k4 += THREADS) {
            const int4 v = acc4[k4];
            const int four[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
            for (int j = 0; j < 4; j++) {
                const int k = 4 * k4 + j, x = finish(four[j], k, bar, plan, s);
                if (x < goal || k >= bar.size || !allowed(k, bar, plan)) continue;
                const Entrant e = {x, tie_key(bar.start + k, bar.q, plan), bar.start + k};
                if (tied_with(e, one))
                    tied++;
                else if (before(e, one))
                    tied = 1;
                insert(e, one, two);
            }
        }
        const Entrant first = first_of_warp(one);
        tied = __reduce_add_sync(ALL, tied_with(one, first) ? tied : 0);
        two = first_of_warp(one.record == first.record ? two : one);
        one = first;
    }
    if ((threadIdx.x & 31) == 0) {
        s_one[threadIdx.x >> 5] = one;
        s_two[threadIdx.x >> 5] = two;
        s_tied[threadIdx.x >> 5] = tied;
    }
}

// The first two of all warps join the best two of query q, and their ties its ties; none if q < 0. One warp does it.
__device__ __forceinline__ void enlist(i64 q, const Query &query, const Out &out) {
    if (threadIdx.x >= 32 || q < 0) return;
    const Entrant nobody = {LOWEST, 0, -1}, one = threadIdx.x < WARPS ? s_one[threadIdx.x] : nobody;
    const Entrant first = first_of_warp(one);
    const Entrant next = first_of_warp(one.record == first.record && threadIdx.x < WARPS ? s_two[threadIdx.x] : one);
    const int tied = __reduce_add_sync(ALL, tied_with(one, first) ? s_tied[threadIdx.x] : 0);
    if (threadIdx.x > 0) return;
    Entrant best = {(int)query.best_score, query.best_key, query.best};
    Entrant second = {(int)query.second_score, query.second_key, query.second};
    if (tied_with(first, best))
        out.n_top[q] = query.n_top + tied;
    else if (before(first, best))
        out.n_top[q] = tied;
    insert(first, best, second);
    insert(next, best, second);
    out.top_score[2 * q] = best.score;
    out.top_key[2 * q] = best.key;
    out.top[2 * q] = best.record;
    out.top_score[2 * q + 1] = second.score;
    out.top_key[2 * q + 1] = second.key;
    out.top[2 * q + 1] = second.record;
}
