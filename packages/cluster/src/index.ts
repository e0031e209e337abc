/** Executors of rollouts beside the driver's own fiber: threads and the runners of a cluster. Stable. */

/** Groups rolled out by the runners of an effect/cluster. */
export * as ClusterExecutor from "./ClusterExecutor.ts"
/** A cluster of processes on this machine, connected by sockets and a SQLite file that assigns the work. */
export * as LocalCluster from "./LocalCluster.ts"
/** Failures of a process that joins a cluster. */
export * as JoinError from "./JoinError.ts"
/** A cluster of processes on any number of machines, connected by HTTP and by a PostgreSQL database that assigns the work. */
export * as PostgresCluster from "./PostgresCluster.ts"
/** Groups rolled out by threads of this process. */
export * as WorkerThreads from "./WorkerThreads.ts"
