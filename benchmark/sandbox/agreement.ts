/** Judges correct programs in every sandbox on this machine and without one, and reports where the verdicts differ. */
import { CodeGrader } from "@effect-rl/recipes"
import { Sandbox } from "@effect-rl/sandbox"
import { Effect } from "effect"
import * as CorrectPrograms from "../../packages/recipes/test/code/CorrectPrograms.ts"
import * as Providers from "../../packages/recipes/test/code/Providers.ts"
import * as Report from "../Report.ts"

const count = Number(process.argv[2] ?? 500)
const seed = 1

process.env["PATH"] = `/usr/bin:${process.env["PATH"]}`

const places = [
  ...Providers.all.filter(({ lacks }) => lacks === undefined),
  { name: "plain CPython", layer: Sandbox.Sandbox.layerUnsafeHost() }
]

const programs = CorrectPrograms.make(count, seed)
const spoiled = programs.filter((_, index) => index % 5 === 0).map(CorrectPrograms.spoiled)

/** A verdict as text: how it ended, and after how many cases. */
const verdict = ({ code, tests }: CorrectPrograms.CorrectProgram) =>
  CodeGrader.judge(tests, code).pipe(
    Effect.match({
      onFailure: ({ message }) => `not judged: ${message}`,
      onSuccess: ({ failure, ran }) => `${failure ?? "passed"}, ${ran.length}`
    })
  )

const verdicts = (given: ReadonlyArray<CorrectPrograms.CorrectProgram>) =>
  Effect.forEach(places, ({ layer, name }) => {
    Report.progress(`${given.length} programs in ${name}`)
    return Effect.provide(Effect.forEach(given, verdict, { concurrency: 2 }), layer)
  })

const { differing, right, wrong } = await Effect.runPromise(
  Effect.gen(function*() {
    return {
      right: yield* verdicts(programs),
      wrong: yield* verdicts(spoiled),
      differing: yield* verdicts(CorrectPrograms.differing)
    }
  })
)

const passed = (of: ReadonlyArray<string>) => of.filter((verdict) => verdict.startsWith("passed")).length

const disagreements = (
  given: ReadonlyArray<CorrectPrograms.CorrectProgram>,
  found: ReadonlyArray<ReadonlyArray<string>>
) =>
  given.flatMap(({ code, family }, index) => {
    const each = found.map((of) => of[index] ?? "")
    return new Set(each).size === 1 ? [] : [[family, ...each, `\`${JSON.stringify(code)}\``]]
  })

const differences = [...disagreements(programs, right), ...disagreements(spoiled, wrong)]
const texts = new Set(programs.map(({ code }) => code))
const families = new Set(programs.map(({ family }) => family))

Report.publish("agreement", "Verdicts of the same programs in every place", [
  `${count} correct programs of ${families.size} families (seed ${seed}), each with its own two cases. They have ${texts.size} different ` +
  `source texts; ${
    programs.filter(({ tests }) => tests._tag === "Function").length
  } are functions, the others read standard input. ${spoiled.length} of them are judged again with one wrong expected result. The expected results come from plain CPython in one process.`,
  Report.table(
    ["place", "right programs that pass", "wrong expectations that pass"],
    places.map(({ name }, index) => [
      name,
      `${passed(right[index] ?? [])} of ${count}`,
      `${passed(wrong[index] ?? [])} of ${spoiled.length}`
    ])
  ),
  `Programs whose verdicts differ between places, in their outcome or in the number of cases that ran: **${differences.length}**.`,
  ...(differences.length === 0
    ? []
    : [Report.table(["family", ...places.map(({ name }) => name), "program"], differences)]),
  ...(differences.some(([family]) => family === "math")
    ? [
      "The last digit of `math`'s functions depends on the C library: WASI uses musl, and results are compared to the last digit." +
      (differences.every(([family]) => family === "math") ? " No other family differs." : "")
    ]
    : []),
  "Further correct programs, not among those above, that use features in which the providers differ:",
  Report.table(
    ["program", ...places.map(({ name }) => name), "because"],
    CorrectPrograms.differing.map(({ because, family }, index) => [
      family,
      ...differing.map((of) => of[index] ?? ""),
      because
    ])
  )
])
