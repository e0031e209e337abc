/** What is read from and written to files: run directories, datasets, tokenizers and the hub's cache. Stable. */

/** Files that are written completely or not at all. */
export * as AtomicFile from "./file/AtomicFile.ts"
/** Messages for failures of the file system, with advice. */
export * as FileFailure from "./file/FileFailure.ts"
/** One owner of a folder at a time, across processes: of a run directory, or of a server's checkpoints. */
export * as FileLock from "./file/FileLock.ts"

/** Vocabularies whose entries are bytes, written in the byte-level alphabet of GPT-2. */
export * as ByteLevel from "./tokenizer/ByteLevel.ts"
/** Tokenizers by the name of a model on the hub, or by a folder. */
export * as HuggingFace from "./tokenizer/HuggingFace.ts"
/** Tokenizers of the Hugging Face format: `tokenizer.json` beside an optional `tokenizer_config.json`. */
export * as HuggingFaceTokenizer from "./tokenizer/HuggingFaceTokenizer.ts"
/** Text of tokens as they arrive. */
export * as IncrementalDecoder from "./tokenizer/IncrementalDecoder.ts"
/** Vocabularies in tiktoken's form: one line per token with its bytes in base64 and its rank, as Kimi publishes its own. */
export * as RankFile from "./tokenizer/RankFile.ts"

/** Files of Hugging Face repositories, kept in the cache that Hugging Face's own libraries also use. */
export * as Hub from "./hub/Hub.ts"
/** Why a file of a hub repository could not be read. */
export * as HubError from "./hub/HubError.ts"
/** A repository of the hub, at a revision. */
export * as Repository from "./hub/Repository.ts"

/** Dataset rows from comma-separated values (RFC 4180). */
export * as Csv from "./dataset/Csv.ts"
/** Dataset rows from JSON lines. */
export * as Jsonl from "./dataset/Jsonl.ts"
/** Dataset rows from parquet files. */
export * as Parquet from "./dataset/Parquet.ts"
/** A dataset file, or a row of it, that cannot be read. */
export * as RowError from "./dataset/RowError.ts"
/** Dataset rows from a file of any supported format. */
export * as Rows from "./dataset/Rows.ts"

/** Storage of a backend's checkpoints: a folder each, under one root. */
export * as CheckpointStore from "./checkpoint/CheckpointStore.ts"

/** The lines in which a run's records are stored, in a file or a database. */
export * as RecordLines from "./run/RecordLines.ts"
/** A run in a directory. */
export * as RunDirectory from "./run/RunDirectory.ts"
