/**
 * Bodies per second and 10,000 samples in flight, beside the official SDK on the same numbers, each in a process of its own.
 * `TINKER_PYTHON` names a Python that has `tinker`; without it that part is left out.
 */
import { execFileSync, spawn, spawnSync } from "node:child_process"
import { join } from "node:path"
import { undisturbed } from "../Quiet.ts"
import * as Report from "../Report.ts"
import type * as Workload from "./Workload.ts"

const python = process.env["TINKER_PYTHON"]
const here = (file: string) => join(import.meta.dirname, file)

const ask = (command: string, args: ReadonlyArray<string>): unknown =>
  JSON.parse(execFileSync(command, args, { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] }))

const conditions = "--conditions=@effect-rl/source"
const ours = (file: string, ...args: ReadonlyArray<string>) => ask(process.execPath, [conditions, here(file), ...args])
const theirs = (file: string, ...args: ReadonlyArray<string>) =>
  python === undefined ? undefined : ask(python, ["-W", "ignore", here(file), ...args])

const version = python === undefined
  ? undefined
  : spawnSync(python, ["-c", "import tinker; print(tinker.__version__)"], { encoding: "utf8" }).stdout.trim()
if (version === undefined) Report.progress("skipped beside the official SDK: TINKER_PYTHON names no Python that has it")

type Rates = Readonly<Record<string, Workload.Rate>>

const isRates = (value: unknown): value is Rates => typeof value === "object" && value !== null

interface InFlight {
  readonly failures: number
  readonly seconds: number
  readonly cpuMicros: number
  readonly rssMegabytes: number
}

const isInFlight = (value: unknown): value is InFlight =>
  typeof value === "object" && value !== null && "failures" in value && "cpuMicros" in value

let othersTook = 0

const measured = async <A>(is: (value: unknown) => value is A, run: () => unknown): Promise<A> => {
  const { share, value } = await undisturbed(run)
  if (!is(value)) throw new Error(JSON.stringify(value))
  Report.progress(JSON.stringify(value))
  othersTook = Math.max(othersTook, share)
  return value
}

const ourRates = await measured(isRates, () => ours("codec.ts"))
const theirRates = version === undefined ? {} : await measured(isRates, () => theirs("codec.py"))

const speed = (rate: Workload.Rate | undefined) => rate === undefined ? NaN : rate.bytes / rate.seconds / 1e6
const shown = (value: number, digits: number, unit = "") =>
  Number.isFinite(value) ? `${value.toFixed(digits)}${unit}` : "not measured"
const ratio = (name: string) => speed(ourRates[name]) / speed(theirRates[name])

const codecRows = Object.keys(ourRates).map((name) => [
  name,
  shown(speed(ourRates[name]), 0),
  shown(speed(theirRates[name]), 0),
  shown(ratio(name), 1, "×")
])

const serve = () =>
  new Promise<{ readonly url: string; readonly stop: () => void }>((resolve) => {
    const child = spawn(process.execPath, [conditions, here("service.ts")], { stdio: ["ignore", "pipe", "inherit"] })
    child.stdout.once("data", (text: Buffer) => resolve({ url: text.toString().trim(), stop: () => child.kill() }))
  })

const counts = [1000, 2000, 4000, 8000, 10_000, 16_000]
const { stop, url } = await serve()
const flights = new Map<string, InFlight>()
for (const count of counts) {
  const name = `effect-rl, ${count.toLocaleString("en")}`
  flights.set(name, await measured(isInFlight, () => ours("inFlight.ts", url, String(count))))
}
if (version !== undefined) {
  flights.set("Python, 10,000", await measured(isInFlight, () => theirs("in_flight.py", url, "10000")))
}
stop()

const requests = (name: string) => Number(name.split(", ")[1]?.replaceAll(",", ""))
const flightRows = [...flights].map(([name, { cpuMicros, failures, rssMegabytes, seconds }]) => [
  name,
  String(failures),
  (requests(name) / seconds).toFixed(0),
  (cpuMicros / requests(name)).toFixed(0),
  rssMegabytes.toFixed(0)
])

const perRequest = (count: number) =>
  (flights.get(`effect-rl, ${count.toLocaleString("en")}`)?.cpuMicros ?? NaN) / count
const failures = [...flights].reduce((sum, [name, one]) => name.startsWith("effect-rl") ? sum + one.failures : sum, 0)

Report.publish("tinker", "The Tinker client", [
  `Bodies: a training request of 128 datums of 2,048 positions (5.3 MB), its result, a sample request with a prompt of
2,048 tokens; MB/s of the body, best of two seconds of tries. Beside it \`tinker\` ${version ?? "(absent)"} from its own
values: lists of tokens and NumPy arrays. Its releases since 0.25 read no training results as JSON.`,
  Report.table(["body", "effect-rl MB/s", "Python MB/s", "effect-rl to it"], codecRows),
  `Samples in flight: all asked for at once at a service on loopback in another process, which answers each after 200 ms.
A sample is two requests. Memory is the most the process had; processor time is the client's alone.`,
  Report.table(["samples at once", "failures", "samples/s", "CPU µs per sample", "MB at most"], flightRows),
  `Other programs took at most ${Report.percent(othersTook)} of the processors meanwhile.`,
  [
    Report.aim("failures", failures, "", "at most", 0),
    Report.aim(
      "encoding of training requests to Python's",
      ratio("protobuf, training request, encode"),
      "×",
      "at least",
      3
    ),
    Report.aim("cost per sample, 16,000 to 1,000 at once", perRequest(16_000) / perRequest(1000), "×", "at most", 1.25)
  ].join("\n")
])
