/**
 * The tokens that grammars allow, for the samples of one model on one thread.
 *
 * Compiling takes turns of the event loop, as the library is asynchronous; masks do not.
 */
import { bytesOfToken, encodeBytes, type TokenBytes } from "@effect-rl/files/tokenizer/ByteLevel"
import * as GrammarRules from "./GrammarRules.ts"
import * as RecentlyUsed from "./RecentlyUsed.ts"
import * as Xgrammar from "./Xgrammar.ts"

/** The vocabulary of a model. */
export interface Vocabulary {
  readonly size: number
  readonly tokenBytes: TokenBytes
  /** Tokens that a grammar allows as stops, and where its marks are their texts. */
  readonly addedTokens: ReadonlyArray<number>
}

/** What ends a sample: tokens, and texts as UTF-8 with one character for each byte. */
export interface Stops {
  readonly tokens: ReadonlyArray<number>
  readonly strings: ReadonlyArray<string>
}

/** The tokens that may come next in one sample. */
export interface Mask {
  /** A bit for each token, 32 to a word, lowest first; undefined where no token may come. */
  readonly allowed: () => Uint32Array | undefined
  readonly accept: (token: number) => void
  readonly dispose: () => void
}

/** What compiles grammars for one set of stop tokens, and the grammars that were used last. */
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

/** The bits of a mask; undefined where all are 0. */
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

/** The masks of the samples of one model. */
export interface Masks {
  /** One for each of `count` samples, of a grammar's rules and these stops. */
  readonly make: (rules: GrammarRules.Rules, stops: Stops, count: number) => Promise<ReadonlyArray<Mask>>
}

export const make = ({ addedTokens, size, tokenBytes }: Vocabulary): Masks => {
  const added = new Set(addedTokens)
  const compilers = new Map<string, Compiler>()
  let library: Xgrammar.Xgrammar | undefined
  const textOf = (token: number) => latin1(bytesOfToken(tokenBytes, token))

  /** The library takes tokens without text for special ones, which no grammar allows. */
  const vocabulary = (marks: ReadonlyArray<string>) =>
    Array.from({ length: size }, (_, token) => {
      const text = textOf(token)
      return added.has(token) && !marks.includes(text) ? "" : encodeBytes(text)
    })

  /** A stop of text that is a token of its own is met as that token. */
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
      ? Promise.reject(new Error("the library was given up"))
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
