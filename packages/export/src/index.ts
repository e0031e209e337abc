/** Runs for other tools: sinks that receive a run live, and projections of a finished one. Stable. */

/** A run as spans of time: iterations, and in them sampling, groups, training, evaluations. */
export * as RunSpans from "./run/RunSpans.ts"

/** Records as JSON lines in one file, for tools that read nothing else. */
export * as JsonLines from "./sink/JsonLines.ts"
/** Runs of an MLflow tracking server, over its REST API. */
export * as Mlflow from "./sink/Mlflow.ts"
/** Spans for OpenTelemetry collectors, and for what reads their protocol: Langfuse, Phoenix, Opik, LangSmith, Braintrust. */
export * as Otlp from "./sink/Otlp.ts"
/** Timelines for ui.perfetto.dev and chrome://tracing. */
export * as Perfetto from "./sink/Perfetto.ts"
/** Other tools that receive a run live. */
export * as Sink from "./sink/Sink.ts"
/** Event files of TensorBoard, which W&B (`wandb sync`), Aim and SwanLab read as well. */
export * as TensorBoard from "./sink/TensorBoard.ts"
/** Alerts of a run, posted to an address: what a person who does not look at the page has to know. */
export * as Webhook from "./sink/Webhook.ts"
/** The database of Trackio, as its own client writes it. */
export * as Trackio from "./sink/Trackio.ts"

/** Conversations with rewards and advantages as JSON lines, in the shape of OpenAI's chat format. */
export * as ChatJsonLines from "./projection/ChatJsonLines.ts"
/** The files that tinker-cookbook writes beside a run, for its own tools and for those that know them. */
export * as Cookbook from "./projection/Cookbook.ts"
/** Logs of Inspect: one `.eval` for each evaluation and each iteration. */
export * as Inspect from "./projection/Inspect.ts"
/** Rollouts as a table in a Parquet file, for notebooks. */
export * as ParquetRollouts from "./projection/ParquetRollouts.ts"
/** A whole run in the format of another tool. */
export * as Projection from "./projection/Projection.ts"
/** Traces of verifiers and prime-rl, as JSON lines. */
export * as Verifiers from "./projection/Verifiers.ts"
