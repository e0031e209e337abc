/** Exports runs to other tools: sinks that receive a run live, and projections of a finished run. Stable. */

/** A run as time spans: iterations that contain sampling, groups, training and evaluations. */
export * as RunSpans from "./run/RunSpans.ts"

/** Records as JSON lines in one file, for tools that read only that format. */
export * as JsonLines from "./sink/JsonLines.ts"
/** Sends runs to an MLflow tracking server over its REST API. */
export * as Mlflow from "./sink/Mlflow.ts"
/** Spans for OpenTelemetry collectors and other tools that accept OTLP: Langfuse, Phoenix, Opik, LangSmith, Braintrust. */
export * as Otlp from "./sink/Otlp.ts"
/** Timelines for ui.perfetto.dev and chrome://tracing. */
export * as Perfetto from "./sink/Perfetto.ts"
/** The interface of tools that receive a run live. */
export * as Sink from "./sink/Sink.ts"
/** TensorBoard event files, which W&B (`wandb sync`), Aim and SwanLab can also read. */
export * as TensorBoard from "./sink/TensorBoard.ts"
/** Posts a run's alerts to a webhook: warnings, bad verdicts, failure and end. */
export * as Webhook from "./sink/Webhook.ts"
/** Writes a Trackio database in the format of Trackio's own client. */
export * as Trackio from "./sink/Trackio.ts"

/** Conversations with rewards and advantages as JSON lines, in OpenAI's chat format. */
export * as ChatJsonLines from "./projection/ChatJsonLines.ts"
/** The files that tinker-cookbook writes for a run, for its own and compatible tools. */
export * as Cookbook from "./projection/Cookbook.ts"
/** Inspect logs: one `.eval` file per evaluation and per iteration. */
export * as Inspect from "./projection/Inspect.ts"
/** Rollouts as a table in a Parquet file, for notebooks. */
export * as ParquetRollouts from "./projection/ParquetRollouts.ts"
/** The interface of exports of a whole run to another tool's format. */
export * as Projection from "./projection/Projection.ts"
/** verifiers and prime-rl traces, as JSON lines. */
export * as Verifiers from "./projection/Verifiers.ts"
