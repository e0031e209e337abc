/** The page: reads the route from the address, gets what it needs, and draws its level. */
import type { BrokenRun, GroupView, RunLine } from "../story/Entry.ts"
import * as Story from "../story/Story.ts"
import { h } from "./Dom.ts"
import * as GroupScreen from "./GroupScreen.ts"
import * as IterationScreen from "./IterationScreen.ts"
import * as Keys from "./Keys.ts"
import * as MemberScreen from "./MemberScreen.ts"
import * as Route from "./Route.ts"
import * as RunScreen from "./RunScreen.ts"
import * as RunsScreen from "./RunsScreen.ts"
import { type Data, link, type Screen } from "./Screen.ts"
import * as Source from "./Source.ts"
import * as Text from "./Text.ts"

const screens: Readonly<Record<Route.Level, (data: Data) => Screen>> = {
  runs: RunsScreen.render,
  run: RunScreen.render,
  iteration: IterationScreen.render,
  group: GroupScreen.render,
  member: MemberScreen.render
}

let route = Route.parse(location.hash)
let runs: ReadonlyArray<RunLine | BrokenRun> = []
let story = Story.empty()
let followed: { readonly run: string; readonly stop: Promise<() => void> } | undefined
let transcript: { readonly of: string; readonly view: GroupView | undefined } | undefined
let problem = ""
let screen: Screen = { title: "", body: [], choices: [], selected: -1 }

const crumbs = () => {
  const { evaluator, iteration, run } = route
  const place = evaluator === undefined ? `iteration ${iteration}` : `${evaluator} before iteration ${iteration}`
  const path: ReadonlyArray<readonly [Route.Level, string]> = [
    ["runs", "runs"],
    ["run", Text.foreign(run ?? "")],
    ["iteration", Text.foreign(place)],
    ["group", "group"],
    ["member", `member ${route.member ?? 0}`]
  ]
  const depth = path.findIndex(([level]) => level === route.at)
  return h(
    "nav",
    { class: "crumbs", "aria-label": "path" },
    ...path.slice(0, depth + 1).map(([level, text], at) =>
      at === depth ? h("span", { "aria-current": "page" }, text) : link({ ...route, at: level }, text)
    )
  )
}

const header = () =>
  h(
    "header",
    {},
    h("strong", {}, "effect-rl"),
    crumbs(),
    h("button", { type: "button", class: "help", "aria-label": "keys", click: Keys.showHelp }, "?")
  )

const main = h("main", { tabindex: -1 })
const top = h("div")

const draw = () => {
  const view = transcript?.of === Route.format({ at: "group", run: route.run, group: route.group })
    ? transcript.view
    : undefined
  screen = screens[route.at]({ route, runs, story, transcript: view, now: Date.now() })
  document.title = `${screen.title} – effect-rl`
  top.replaceChildren(header())
  const open = [...main.querySelectorAll("details")].map((details) => details.open)
  main.replaceChildren(
    h("h1", {}, Text.foreign(screen.title)),
    ...(problem === "" ? [] : [h("p", { class: "problem", role: "alert" }, Text.foreign(problem))]),
    ...screen.body
  )
  for (const [at, details] of main.querySelectorAll("details").entries()) details.open = open[at] ?? false
}

/** Many records may arrive between two frames. */
let isDrawing = false
const redraw = () => {
  if (isDrawing) return
  isDrawing = true
  setTimeout(() => {
    isDrawing = false
    draw()
  }, 100)
}

const report = (error: unknown) => {
  problem = error instanceof Error ? error.message : String(error)
  draw()
}

const followRun = (run: string | undefined) => {
  if (run === followed?.run) return
  followed?.stop.then((stop) => stop(), report)
  story = Story.empty()
  followed = undefined
  if (run === undefined) return
  const stop = Source.follow(run, (entries) => {
    if (followed?.run !== run) return
    for (const entry of entries) story = Story.add(story, entry)
    // A transcript does not change: only levels that show the story are drawn again.
    if (route.at === "run" || route.at === "iteration" || entries.length !== 1) redraw()
  })
  followed = { run, stop }
  stop.catch(report)
}

const readTranscript = async ({ at, group, run }: Route.Route) => {
  if (run === undefined || group === undefined || (at !== "group" && at !== "member")) return
  const of = Route.format({ at: "group", run, group })
  if (transcript?.of === of) return
  transcript = { of, view: undefined }
  const view = await Source.transcript(run, group)
  if (transcript?.of !== of) return
  transcript = { of, view }
  draw()
}

const readRuns = async () => {
  runs = await Source.runs()
  const [only, ...others] = runs
  const isFirst = location.hash === "" && only !== undefined && others.length === 0 && !("error" in only)
  if (isFirst) location.replace(Route.format({ at: "run", run: only.run }))
  else draw()
}

const arrive = () => {
  const before = route
  route = Route.parse(location.hash)
  problem = ""
  if (route.at === "runs") readRuns().catch(report)
  followRun(route.at === "runs" ? undefined : route.run)
  readTranscript(route).catch(report)
  draw()
  if (before.at !== route.at || before.group !== route.group) scrollTo(0, 0)
  main.querySelector("tr[aria-current], article[aria-current]")?.scrollIntoView({ block: "nearest" })
}

document.body.append(top, main)
Keys.listen(() => ({ screen, route }), (next) => {
  history.pushState(null, "", Route.format(next))
  arrive()
})
addEventListener("hashchange", arrive)
// Says how long a silent run has been silent.
setInterval(() => {
  if (route.at === "run") redraw()
}, 30_000)
arrive()
