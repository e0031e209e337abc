// Runs the examples that check-docs.mjs has written: makes every value at the top level of a block, and runs the Effects, Streams and
// Layers among them with the services of docs/given.ts. Where a statement ends with `// => value`, that must be its value. Blocks that
// start a program, and those that declare values which docs/given.ts does not have, are compiled alone.
//   node --conditions=@effect-rl/source scripts/run-examples.mjs [part of a file's name]
import { Cause, Effect, Exit, Layer, Option, Stream } from "effect"
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { pathToFileURL } from "node:url"
import { inspect, isDeepStrictEqual } from "node:util"
import * as given from "../docs/given.ts"

const blocks = "docs/.blocks"
const folder = resolve(blocks, "run")

/** Time limit for one value, because a stream that follows a run never ends. */
const longest = "5 seconds"

/** Whether a block is only compiled: whole programs, and tests, which run in vitest. */
const isOnlyCompiled = (text) => /runMain|"@effect\/vitest"|"vitest"|^declare function /m.test(text)

/** Failures for want of what is not in the repository: services, keys, servers, files, folders of models, finished runs, Python environments. */
const isOutside = (failure) =>
  /Service not found|no credential|does not answer|cannot reach|printed nothing|does not exist|NotFound: FileSystem|not a run directory|has no file|holds no run|no such cassette|no checkpoint "tinker:|SandboxError: \w+: probe|no chat template|there is no Python|Cannot find module '[^']*effect-rl-examples-|Cannot find module '[^']*\.eval\.ts'/
    .test(failure)

/** Replaces the values that a guide declares by those of given.ts; undefined if one is missing there. */
const withGiven = (text) => {
  const declared = [...text.matchAll(/^declare const (\w+):.*$/gm)]
  if (declared.some(([, name]) => !(name in given))) return undefined
  return declared.reduce((rest, [line, name]) => rest.replace(line, `import { ${name} } from "../given.ts"`), text)
}

/** Matches an unindented line that begins an unnamed statement. */
const begins =
  /^(?![)}\]`/@ ]|import |export |const |let |type |interface |declare |function |class |if |for |try |await )\S/

/** The block with every value at its top level exported: statements without a name are `statement1`, `statement2`, … */
const exported = (text) => {
  let count = 0
  let isInProgram = false
  return text.split("\n").map((line) => {
    if (line.startsWith("import ")) return line.replaceAll("\"../", "\"../../")
    if (isInProgram) {
      isInProgram = line !== "})"
      return line
    }
    isInProgram = line === "Effect.gen(function*() {"
    if (/^const [\w{[]/.test(line)) return `export ${line}`
    return begins.test(line) ? `export const statement${++count} = ${line}` : line
  }).join("\n")
}

/** The text of each expected value or failure, by the name of its statement. */
const expectations = (text) => {
  const found = []
  let name
  for (const line of text.split("\n")) {
    name = /^export const (\w+)/.exec(line)?.[1] ?? name
    const expected = /\/\/ => (.+)$/.exec(line)?.[1]
    if (expected !== undefined) found.push([name, expected])
  }
  return found
}

const effectOf = (value) => {
  if (Effect.isEffect(value)) return value
  if (Stream.isStream(value)) return Stream.runCollect(Stream.take(value, 100))
  return Layer.isLayer(value) ? Layer.build(value) : Effect.succeed(value)
}

const run = (value) =>
  Effect.runPromiseExit(
    Effect.scoped(Effect.provide(Effect.timeoutOption(effectOf(value), longest), Layer.fresh(given.services)))
  )

const plain = (value) => value instanceof Float32Array || value instanceof Int32Array ? Array.from(value) : value

const isEqual = (found, expected) => isDeepStrictEqual(plain(found), expected) || inspect(found) === inspect(expected)

rmSync(folder, { recursive: true, force: true })
mkdirSync(folder)
const sources = new Map(
  readdirSync(blocks).filter((file) => file.endsWith(".ts") && file.includes(process.argv[2] ?? "")).map((file) => [
    file,
    readFileSync(join(blocks, file), "utf8")
  ])
)
const problems = []
const counts = { run: 0, outside: 0, checked: 0, compiled: 0 }
const { log } = console
const home = process.cwd()
const scratch = mkdtempSync(join(tmpdir(), "effect-rl-examples-"))
process.chdir(scratch)

/** The values and failures of a block, by name. */
const outcomes = async (file) => {
  const ends = new Map()
  for (const [name, value] of Object.entries(await import(pathToFileURL(join(folder, file)).href))) {
    ends.set(name, Exit.mapBoth(await run(value), { onSuccess: Option.getOrUndefined, onFailure: (error) => error }))
  }
  return ends
}

const shown = (exit) => Exit.isSuccess(exit) ? inspect(exit.value) : Cause.pretty(exit.cause)

const isAsExpected = (exit, expected) =>
  Exit.isSuccess(exit)
    ? isEqual(exit.value, new Function(`return (${expected})`)())
    : Cause.pretty(exit.cause).startsWith(expected.replace(/ ?…$/, ""))

const judge = (file, ends, expected) => {
  for (const [name, exit] of ends) {
    const wanted = expected.get(name)
    if (wanted !== undefined) {
      counts.checked++
      if (!isAsExpected(exit, wanted)) {
        problems.push(`${file}: ${name} is ${shown(exit)}, and its comment says ${wanted}`)
      }
    } else if (Exit.isFailure(exit) && isOutside(Cause.pretty(exit.cause))) {
      counts.outside++
    } else if (Exit.isFailure(exit)) {
      problems.push(`${file}: ${name}: ${shown(exit)}`)
    }
  }
}

for (const [file, source] of sources) {
  const usable = isOnlyCompiled(source) ? undefined : withGiven(source)
  if (usable === undefined) {
    counts.compiled++
    continue
  }
  const text = exported(usable)
  writeFileSync(join(folder, file), text)
  console.log = () => {}
  try {
    judge(file, await outcomes(file), new Map(expectations(text)))
    counts.run++
  } catch (error) {
    if (isOutside(String(error))) counts.outside++
    else problems.push(`${file}: ${error}`)
  } finally {
    console.log = log
  }
}
process.chdir(home)
rmSync(scratch, { recursive: true, force: true })
for (const problem of problems) console.error(problem)
console.log(
  `${counts.run} examples ran (${counts.outside} of their values need a file, a key or a server that is not here), ` +
    `${counts.checked} values are as their comments say, ${counts.compiled} examples were compiled alone`
)
process.exit(problems.length === 0 ? 0 : 1)
