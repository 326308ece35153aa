// How a query's facts reach shared memory, and how a block's sums come about.

template <int BYTES>
__device__ __forceinline__ void copy_async(void *to, const void *from) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(address(to)), "l"(from), "n"(BYTES) : "memory");
}
__device__ __forceinline__ void wait_for_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }

// A query's facts, those that are staged at once.
struct Facts {
    int first, n;
};

// Have the heads of facts copied. The last warp does it, and must wait for the copies.
__device__ __forceinline__ void fetch_heads(const Plan &plan, const Facts &facts, Head *head) {
    const int k = (int)threadIdx.x - (THREADS - 32);
    if (k < 0 || k >= facts.n) return;
    copy_async<16>(head + k, plan.head + facts.first + k);
    copy_async<16>((char *)(head + k) + 16, (const char *)(plan.head + facts.first + k) + 16);
}

// Have what belongs to query q copied, by the last warp too.
__device__ __forceinline__ void fetch_query(const Plan &plan, const Out *out, const i64 *watch, i64 q, Query *query) {
    const int k = (int)threadIdx.x - (THREADS - 32);
    if (k < 0 || k >= (int)(sizeof(Query) / 8) || q >= plan.n_queries) return;
    const i64 *from = k == 7 ? plan.exclude : k == 8 ? plan.cut : k == 9 ? plan.cap : k == 10 ? plan.shift : watch;
    if (from && k > 6) from += q;
    if (k <= 6) from = nullptr;
    if (k <= 6 && out) {
        const i64 *pairs[3] = {out->top_score, (const i64 *)out->top_key, out->top};
        from = k == 6 ? out->n_top + q : pairs[k / 2] + 2 * q + (k & 1);
    }
    if (from) copy_async<8>((i64 *)query + k, from);
}

// Have the tables of facts copied, whose heads are there. Rows of the time table start at multiples of 16 bytes.
__device__ __forceinline__ void fetch_tables(const Plan &plan, const Shared &s, const Facts &facts, const Head *head) {
#if TABLES_SHARED
    const int values = (int)plan.n_values;
    for (int j = threadIdx.x; j < facts.n * values; j += THREADS)
        copy_async<sizeof(T)>(s.value + j, plan.value + (i64)facts.first * values + j);
#if USE_TIME
    const int pieces = (int)plan.times_apart * (int)sizeof(T) / 16;
    int k = 0, j = threadIdx.x;
    while (true) {
        for (; j >= pieces; j -= pieces) k++;
        if (k >= facts.n) break;
        copy_async<16>((char *)(s.time + k * plan.times_apart) + 16 * j, (const char *)head[k].time + 16 * j);
        j += THREADS;
    }
#endif
#endif
}

#if TABLES_SHARED
typedef u32 Row;
#define VALUE_ROW(k) address(s.value + (k) * (int)plan.n_values)
#define TIME_ROW(k) address(s.time + (k) * (int)plan.times_apart)
#else
typedef const T *Row;
#define VALUE_ROW(k) (plan.value + (i64)(f0 + (k)) * plan.n_values)
#define TIME_ROW(k) (head[k].time)
#endif

// Add a stretch of a run: DEPTH postings per lane, 32 apart. No jumps between the loads, so that all are on their way at once.
template <bool WHOLE>
__device__ __forceinline__ void add_stretch(int p0, int n, const WORD *run, const Fact<Row> &fact, u32 acc) {
    WORD w[DEPTH];
    FACTOR_TYPE factor[DEPTH] = {};
    int x[DEPTH];
#pragma unroll
    for (int j = 0; j < DEPTH; j++) w[j] = WHOLE || p0 + 32 * j < n ? __ldg(run + p0 + 32 * j) : 0;
#if COMBINE == 2
#pragma unroll
    for (int j = 0; j < DEPTH; j++)
        if (WHOLE || p0 + 32 * j < n) factor[j] = __ldg(fact.factor + p0 + 32 * j);
#endif
#pragma unroll
    for (int j = 0; j < DEPTH; j++) x[j] = addend(p0 + 32 * j, n, w[j], run, fact, factor[j]);
#pragma unroll
    for (int j = 0; j < DEPTH; j++)
        if (WHOLE || p0 + 32 * j < n)
            asm volatile("red.shared.add.s32 [%0], %1;" ::"r"(acc + 4 * (u32)local_of(w[j])), "r"(x[j]) : "memory");
}

__device__ __forceinline__ Fact<Row> fact_of(const Index &ix, const Plan &plan, const Shared &s, int f0, int k, int shift,
                                             const Head *head) {
    Fact<Row> fact = {VALUE_ROW(k), TIME_ROW(k), head[k].origin, (int)plan.n_times - 2};
#if COMBINE == 2
    fact.factor = plan.posting_factor + (head[k].run - ix.words);
    fact.floor = head[k].floor;
    fact.shift = shift;
    fact.log_table = s.log_table;
#endif
    return fact;
}

// Add the staged facts. Warps take stretches of the runs in turn.
__device__ __forceinline__ void add_facts(const Index &ix, const Plan &plan, const Shared &s, const Facts &facts, int shift,
                                          const Head *head) {
    const int lane = threadIdx.x & 31;
    const u32 acc = address(s.acc);
    int mine = threadIdx.x >> 5;
    for (int k = 0; k < facts.n; k++) {
        const WORD *run = head[k].run;
        const int length = head[k].length, whole = length / STRETCH, stretches = (length + STRETCH - 1) / STRETCH;
        const Fact<Row> fact = fact_of(ix, plan, s, facts.first, k, shift, head);
        for (; mine < whole; mine += WARPS) add_stretch<true>(mine * STRETCH + lane, length, run, fact, acc);
        if (mine < stretches) {
            add_stretch<false>(mine * STRETCH + lane, length, run, fact, acc);
            mine += WARPS;
        }
        mine -= stretches;
    }
}

#if COMBINE == 1
// Lower each record that held every fact so far to its best event for fact k; one thread owns a record's events.
__device__ void least_fact(const Index &ix, const Plan &plan, const Shared &s, int f0, int k, int turn, const Head *head) {
    const WORD *run = head[k].run;
    const int length = head[k].length;
    const Fact<Row> fact = fact_of(ix, plan, s, f0, k, 0, head);
    for (int p = threadIdx.x; p < length; p += THREADS) {
        const WORD w = run[p];
        const int local = local_of(w);
        if (REPEATS && p > 0 && local_of(run[p - 1]) == local) continue;
        const int x = max(pair(p, length, w, run, fact), 0);
        if (s.held[local] == turn) {
            s.held[local] = turn + 1;
            s.acc[local] = turn == 0 ? x : min(s.acc[local], x);
        }
    }
}
#endif

// Where a thread block stands in its queries.
struct Work {
    i64 b, q;
    int turn, first, stop, next_first, next_stop;
};

__device__ __forceinline__ Facts first_facts(const Plan &plan, int first, int stop) {
    return {first, min((int)plan.facts_at_once, stop - first)};
}

// Only asks where the facts of the next query lie: nobody waits for the answer here.
__device__ __forceinline__ void ask_ahead(const Plan &plan, Work &work) {
    const i64 q = min(work.q + gridDim.x, plan.n_queries - 1);
    work.next_first = plan.query_ptr[q];
    work.next_stop = plan.query_ptr[q + 1];
}

__device__ __forceinline__ Work begin(const Plan &plan, const Shared &s, i64 b, const Out *out, const i64 *watch) {
    Work work = {b, blockIdx.x, 0, plan.query_ptr[blockIdx.x], plan.query_ptr[blockIdx.x + 1]};
    ask_ahead(plan, work);
#if COMBINE == 2
    for (int k = threadIdx.x; k < 1024; k += THREADS) s.log_table[k] = plan.log_table[k];
#endif
    const Facts facts = first_facts(plan, work.first, work.stop);
    fetch_heads(plan, facts, s_head[0]);
    fetch_query(plan, out, watch, work.q, s_query);
    wait_for_copies();
    __syncthreads();
    fetch_tables(plan, s, facts, s_head[0]);
    return work;
}

__device__ __forceinline__ void advance(const Plan &plan, Work &work) {
    work.q += gridDim.x;
    work.turn++;
    work.first = work.next_first;
    work.stop = work.next_stop;
    ask_ahead(plan, work);
}

__device__ __forceinline__ void add_staged(const Index &ix, const Plan &plan, const Shared &s, const Work &work,
                                           const Facts &facts) {
    const Head *head = s_head[work.turn & 1];
#if COMBINE == 1
    for (int k = 0; k < facts.n; k++) {
        if (k > 0) __syncthreads();
        least_fact(ix, plan, s, facts.first, k, facts.first + k - work.first, head);
    }
#else
    add_facts(ix, plan, s, facts, COMBINE == 2 ? (int)s_query[work.turn & 3].shift : 0, head);
#endif
}

// Leave in s.acc the sums of the block for the query at hand. A thread clears the records that it looked over itself, so it
// need not wait for others. Ends with all threads in step.
__device__ __forceinline__ void fill(const Index &ix, const Plan &plan, const Shared &s, const Work &work, const Out *out,
                                     const i64 *watch) {
    int4 *acc4 = (int4 *)s.acc;
    for (int k = threadIdx.x; k < BLOCK / 4; k += THREADS) acc4[k] = make_int4(0, 0, 0, 0);
#if COMBINE == 1
    for (int k = threadIdx.x; k < BLOCK / 4; k += THREADS) ((uint2 *)s.held)[k] = make_uint2(0, 0);
#endif
    wait_for_copies();
    __syncthreads();
    Facts facts = first_facts(plan, work.first, work.stop);
    const Facts next = first_facts(plan, work.next_first, work.next_stop);
    Head *ahead = s_head[(work.turn + 1) & 1];
    fetch_heads(plan, next, ahead);
    fetch_query(plan, out, watch, work.q + gridDim.x, s_query + ((work.turn + 1) & 3));
    add_staged(ix, plan, s, work, facts);
    // more facts than are staged at once come in turns
    while ((facts.first += facts.n) < work.stop) {
        facts.n = min((int)plan.facts_at_once, work.stop - facts.first);
        __syncthreads();
        fetch_heads(plan, facts, s_head[work.turn & 1]);
        wait_for_copies();
        __syncthreads();
        fetch_tables(plan, s, facts, s_head[work.turn & 1]);
        wait_for_copies();
        __syncthreads();
        add_staged(ix, plan, s, work, facts);
    }
    wait_for_copies();
    __syncthreads();
    fetch_tables(plan, s, next, ahead);
}
