/** Converts grammars to the text that compute threads compile. */
import { TinkerError } from "@effect-rl/core"
import { Grammar } from "@effect-rl/core/backend"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as GrammarRules from "./GrammarRules.ts"
import * as RecentlyUsed from "./RecentlyUsed.ts"
import * as Xgrammar from "./Xgrammar.ts"

/** This thread's instance of the library, and the last fatal error that the instance printed. An aborted instance is replaced. */
interface Reader {
  readonly library: Xgrammar.Xgrammar
  printed: string
}

let reader: Reader | undefined

const newReader = (): Reader => {
  const made: Reader = {
    library: Xgrammar.make((line) => {
      if (line.includes("FATAL")) made.printed = line
    }),
    printed: ""
  }
  return made
}

const rejected = (cause: unknown) => {
  const detail = reader?.printed.replace(/^.*?: /, "") || (cause instanceof Error ? cause.message : String(cause))
  reader = undefined
  return new TinkerError.Rejected({ detail: `grammar.jsonSchema cannot be compiled: ${detail}` })
}

const convert = (schema: string) => {
  reader ??= newReader()
  return reader.library.Grammar.fromJSONSchema(schema, false, -1, [", ", ": "], true)
}

const most = 64

/** Recently used rules by schema. */
const known = new Map<string, string>()

const remember = (schema: string, text: string) => RecentlyUsed.keep(known, schema, text, most)

/** The rules of the schema's values; the first rule is `root`. */
const rulesOf = Effect.fnUntraced(function*(jsonSchema: Grammar.Grammar["jsonSchema"]) {
  const canonical = Grammar.canonical(jsonSchema)
  if (Result.isFailure(canonical)) {
    return yield* new TinkerError.Rejected({ detail: `grammar.jsonSchema: ${canonical.failure}` })
  }
  const schema = JSON.stringify(canonical.success)
  const text = known.get(schema)
  if (text !== undefined) return remember(schema, text)
  const grammar = yield* Effect.tryPromise({ try: () => convert(schema), catch: rejected })
  const rules = grammar.toString()
  grammar.dispose()
  return remember(schema, rules)
})

/** The rules of a grammar. Fails with `Rejected` for an unsupported schema; see `Grammar.problem`. */
export const of = ({ calls, jsonSchema }: Grammar.Grammar) =>
  Effect.map(
    rulesOf(jsonSchema),
    (text) => calls === undefined ? GrammarRules.values(text) : GrammarRules.calls(text, calls)
  )
