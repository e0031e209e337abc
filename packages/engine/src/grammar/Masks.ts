/**
 * Masks of the tokens that grammars allow, for one model's samples on one thread. Compiling a grammar is asynchronous; computing a mask is
 * synchronous.
 */
import { bytesOfToken, encodeBytes, type TokenBytes } from "@effect-rl/files/tokenizer/ByteLevel"
import * as GrammarRules from "./GrammarRules.ts"
import * as RecentlyUsed from "./RecentlyUsed.ts"
import * as Xgrammar from "./Xgrammar.ts"

/** The vocabulary of a model. */
export interface Vocabulary {
  readonly size: number
  readonly tokenBytes: TokenBytes
  /** Added tokens. A grammar allows them only as stops or if their text is one of its marks. */
  readonly addedTokens: ReadonlyArray<number>
}

/** What ends a sample: token ids, and UTF-8 strings written as one character per byte. */
export interface Stops {
  readonly tokens: ReadonlyArray<number>
  readonly strings: ReadonlyArray<string>
}

/** The tokens that may come next in one sample. */
export interface Mask {
  /** One bit per token, in 32-bit words, lowest bit first; undefined if no token is allowed. */
  readonly allowed: () => Uint32Array | undefined
  readonly accept: (token: number) => void
  readonly dispose: () => void
}

/** A grammar compiler for one set of stop tokens, with its recently used grammars. */
interface Compiler {
  readonly compiler: Xgrammar.GrammarCompiler
  readonly info: Xgrammar.TokenizerInfo
  readonly grammars: Map<string, Xgrammar.CompiledGrammar>
}

const mostCompilers = 2

const mostGrammars = 16

const disposeCompiler = ({ compiler, grammars, info }: Compiler) => {
  for (const grammar of grammars.values()) grammar.dispose()
  compiler.dispose()
  info.dispose()
}

const latin1 = (bytes: Uint8Array) => Buffer.from(bytes).toString("latin1")

/** The words of a mask; undefined if no bit is set. */
const wordsOf = (matcher: Xgrammar.GrammarMatcher, size: number): Uint32Array | undefined => {
  const words = matcher.handle.GetNextTokenBitmask(size)
  const bits = Uint32Array.from({ length: Math.ceil(size / 32) }, (_, index) => words.get(index))
  words.delete()
  return bits.some((word) => word !== 0) ? bits : undefined
}

const maskOf = (matcher: Xgrammar.GrammarMatcher, size: number): Mask => ({
  allowed: () => wordsOf(matcher, size),
  accept: (token) => void matcher.acceptToken(token),
  dispose: () => matcher.dispose()
})

/** Creates the masks of one model's samples. */
export interface Masks {
  /** Creates one mask for each of `count` samples with the same grammar rules and stops. */
  readonly make: (rules: GrammarRules.Rules, stops: Stops, count: number) => Promise<ReadonlyArray<Mask>>
}

export const make = ({ addedTokens, size, tokenBytes }: Vocabulary): Masks => {
  const added = new Set(addedTokens)
  const compilers = new Map<string, Compiler>()
  let library: Xgrammar.Xgrammar | undefined
  const textOf = (token: number) => latin1(bytesOfToken(tokenBytes, token))

  /**
   * The text of each token. Added tokens other than the marks get no text, because the library treats tokens without
   * text as special tokens, which no grammar allows.
   */
  const vocabulary = (marks: ReadonlyArray<string>) =>
    Array.from({ length: size }, (_, token) => {
      const text = textOf(token)
      return added.has(token) && !marks.includes(text) ? "" : encodeBytes(text)
    })

  /** The stop token ids, including stop strings that are single tokens. */
  const stopTokens = ({ strings, tokens }: Stops) => [
    ...new Set([...tokens, ...addedTokens.filter((token) => strings.includes(textOf(token)))])
  ]

  const compilerOf = async (stops: ReadonlyArray<number>, marks: ReadonlyArray<string>): Promise<Compiler> => {
    const key = JSON.stringify([stops, marks])
    const known = compilers.get(key)
    if (known !== undefined) return RecentlyUsed.keep(compilers, key, known, mostCompilers, disposeCompiler)
    library ??= Xgrammar.make(() => undefined)
    const info = await library.TokenizerInfo.createTokenizerInfo(vocabulary(marks), "byte_level", false, size, stops)
    const compiler = await library.GrammarCompiler.createGrammarCompiler(info, false)
    return RecentlyUsed.keep(compilers, key, { info, compiler, grammars: new Map() }, mostCompilers, disposeCompiler)
  }

  const grammarOf = async ({ compiler, grammars }: Compiler, rules: string) => {
    const grammar = grammars.get(rules) ?? (await compiler.compileGrammar(rules, GrammarRules.root))
    return RecentlyUsed.keep(grammars, rules, grammar, mostGrammars, (old) => old.dispose())
  }

  const compiled = async (rules: GrammarRules.Rules, stops: Stops, count: number) => {
    const tokens = stopTokens(stops)
    const compiler = await compilerOf(tokens, rules.marks)
    const grammar = await grammarOf(compiler, GrammarRules.stopped(rules, stops.strings, tokens.length > 0))
    const matchers = Array.from({ length: count }, () => matcherOf(grammar))
    return (await Promise.all(matchers)).map((matcher) => maskOf(matcher, size))
  }

  const matcherOf = (grammar: Xgrammar.CompiledGrammar) =>
    library === undefined
      ? Promise.reject(new Error("the library instance was replaced after a fatal error"))
      : library.GrammarMatcher.createGrammarMatcher(grammar)

  let last: Promise<unknown> = Promise.resolve()

  return {
    make: (rules, stops, count) => {
      const next = last.then(() => compiled(rules, stops, count))
      last = next.catch(() => {
        library = undefined
        compilers.clear()
      })
      return next
    }
  }
}
