/**
 * Compares bodies per second and 10,000 concurrent samples with the official SDK on the same numbers, each in a separate process.
 * `TINKER_PYTHON` names a Python with `tinker`; without it, that part is left out.
 */
import { Schema } from "effect"
import { spawn } from "node:child_process"
import { join } from "node:path"
import * as Process from "../Process.ts"
import * as Quiet from "../Quiet.ts"
import * as Report from "../Report.ts"
import * as Workload from "./Workload.ts"

const python = process.env["TINKER_PYTHON"]
const here = (file: string) => join(import.meta.dirname, file)

const theirs = (file: string, ...args: ReadonlyArray<string>) =>
  Process.run(python ?? "", "-W", "ignore", here(file), ...args)

const version = python === undefined
  ? undefined
  : Process.run(python, "-c", "import tinker; print(tinker.__version__)")
if (version === undefined) Report.progress("skipped beside the official SDK: TINKER_PYTHON names no Python that has it")

const Rates = Schema.Record(Schema.String, Workload.Rate)

const ourRates = Quiet.measured("bodies", Rates, () => Process.node(here("codec.ts")))
const theirRates: typeof Rates.Type = version === undefined
  ? {}
  : Quiet.measured("bodies, Python", Rates, () => theirs("codec.py"))

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

const serve = (...args: ReadonlyArray<string>) =>
  new Promise<{ readonly url: string; readonly stop: () => void }>((resolve) => {
    const child = spawn(process.execPath, ["--conditions=@effect-rl/source", here("service.ts"), ...args], {
      stdio: ["ignore", "pipe", "inherit"]
    })
    child.stdout.once("data", (text: Buffer) => resolve({ url: text.toString().trim(), stop: () => child.kill() }))
  })

const counts = [1000, 2000, 4000, 8000, 10_000, 16_000]
const { stop, url } = await serve()
const flights = new Map<string, Workload.InFlight>()
const fly = (name: string, run: () => string) => flights.set(name, Quiet.measured(name, Workload.InFlight, run))
for (const count of counts) {
  fly(`effect-rl, ${count.toLocaleString("en")}`, () => Process.node(here("inFlight.ts"), url, String(count)))
}
const smallHeap = ["--max-semi-space-size=8", "--heap-growing-percent=30"]
const small = "effect-rl in a small heap, 10,000"
fly(small, () => Process.node(...smallHeap, here("inFlight.ts"), url, "10000"))
fly("effect-rl over fetch, 10,000", () => Process.node(here("inFlight.ts"), url, "10000", "fetch"))
if (version !== undefined) fly("Python, 10,000", () => theirs("in_flight.py", url, "10000"))
stop()
const oneByOne = await serve("one-by-one")
fly("effect-rl polling one by one, 10,000", () => Process.node(here("inFlight.ts"), oneByOne.url, "10000"))
oneByOne.stop()

const requests = (name: string) => Number(name.split(", ")[1]?.replaceAll(",", ""))
const rate = (name: string) => requests(name) / (flights.get(name)?.seconds ?? NaN)
const flightRows = [...flights].map(([name, { cpuMicros, failures, rssMegabytes }]) => [
  name,
  String(failures),
  rate(name).toFixed(0),
  (cpuMicros / requests(name)).toFixed(0),
  rssMegabytes.toFixed(0)
])

const perRequest = (count: number) =>
  (flights.get(`effect-rl, ${count.toLocaleString("en")}`)?.cpuMicros ?? NaN) / count
const memory = (name: string) => flights.get(name)?.rssMegabytes ?? NaN
const failures = [...flights].reduce((sum, [name, one]) => name.startsWith("effect-rl") ? sum + one.failures : sum, 0)

Report.publish("tinker", "The Tinker client", [
  `The bodies are a training request of 128 datums with 2,048 positions (5.3 MB), its result, and a sample request with a prompt of
2,048 tokens. Speeds are MB/s of the body, the best of two seconds of repetitions. The Python column is \`tinker\` ${
    version ?? "(absent)"
  } with its own
values: lists of tokens and NumPy arrays. Its releases since 0.25 do not read training results as JSON.`,
  Report.table(["body", "effect-rl MB/s", "Python MB/s", "effect-rl to it"], codecRows),
  `Samples in flight: all are requested at once from a service on loopback in another process, which answers each after 200 ms.
A sample takes two requests, over undici unless stated otherwise, as on the command line. One poll waits for all unfinished samples;
without that call, each sample is polled separately. Memory is the peak of the
process; processor time is only the client's. Node collects garbage when its heap has grown to a multiple of the live
data, which trades memory for time; \`node ${smallHeap.join(" ")}\` keeps the heap small without
limiting how much may be in use.`,
  Report.table(["samples at once", "failures", "samples/s", "CPU µs per sample", "MB at most"], flightRows),
  Quiet.disturbance(),
  [
    Report.aim("failures", failures, "", "at most", 0),
    Report.aim(
      "encoding training requests, compared with Python",
      ratio("protobuf, training request, encode"),
      "×",
      "at least",
      3
    ),
    Report.aim("CPU time per sample, 10,000 at once", perRequest(10_000), " µs", "at most", 900),
    Report.aim(
      "memory compared with Python, with a small heap",
      memory(small) / memory("Python, 10,000"),
      "×",
      "at most",
      1
    ),
    Report.aim(
      "samples/s compared with Python, with a small heap",
      rate(small) / rate("Python, 10,000"),
      "×",
      "at least",
      5
    ),
    Report.aim(
      "cost per sample, 16,000 at once compared with 1,000",
      perRequest(16_000) / perRequest(1000),
      "×",
      "at most",
      1.25
    )
  ].join("\n")
])
