/** The page's entry point: it reads the route from the address, loads the data and draws the screen. */
import { render } from "preact"
import * as CompareScreen from "./CompareScreen.ts"
import { empty, h } from "./Dom.ts"
import * as GroupScreen from "./GroupScreen.ts"
import * as Header from "./Header.ts"
import * as IterationScreen from "./IterationScreen.ts"
import * as Keys from "./Keys.ts"
import * as MemberScreen from "./MemberScreen.ts"
import * as MetricsScreen from "./MetricsScreen.ts"
import * as Model from "./Model.ts"
import * as ProblemsScreen from "./ProblemsScreen.ts"
import * as RolloutsScreen from "./RolloutsScreen.ts"
import * as Route from "./Route.ts"
import * as RunScreen from "./RunScreen.ts"
import * as RunsScreen from "./RunsScreen.ts"
import type { Data, Screen } from "./Screen.ts"
import * as SearchScreen from "./SearchScreen.ts"
import * as Source from "./Source.ts"
import * as Text from "./Text.ts"

const screens: Readonly<Record<Route.Level, (data: Data) => Screen>> = {
  runs: RunsScreen.render,
  run: RunScreen.render,
  iteration: IterationScreen.render,
  group: GroupScreen.render,
  member: MemberScreen.render,
  rollouts: RolloutsScreen.render,
  problems: ProblemsScreen.render,
  metrics: MetricsScreen.render,
  search: SearchScreen.render,
  compare: CompareScreen.render
}

const toContent = () => document.querySelector("h1")?.focus()

const root = document.createElement("div")
document.body.append(root)

const start = (source: Source.Source) => {
  let screen: Screen = { title: "", body: [], choices: [], selected: -1 }
  const draw = () => {
    const { data, problem } = model.state()
    screen = screens[data.route.at](data)
    document.title = `${screen.title} – effect-rl`
    document.documentElement.dataset["records"] = String(data.story?.records.length ?? 0)
    render(
      h(
        "div",
        {},
        h("button", { type: "button", class: "skip", onClick: toContent }, "skip to the content"),
        Header.draw(data),
        h(
          "main",
          { key: data.route.at },
          h("h1", { tabindex: -1 }, screen.title),
          problem === "" ? undefined : h("p", { class: "problem", role: "alert" }, Text.foreign(problem)),
          ...(problem !== "" && screen.isWaiting === true ? [] : screen.body)
        ),
        Keys.help
      ),
      root
    )
  }
  const model = Model.make(source, draw)

  let isOpened = false
  const arrive = () => {
    const before = model.state().data.route
    const route = Route.parse(location.hash)
    model.open(route)
    const isElsewhere = before.at !== route.at || before.iteration !== route.iteration || before.metric !== route.metric
    if (isElsewhere) scrollTo(0, 0)
    // Focuses the new heading, so screen readers announce it. A page that was just opened starts at its top.
    if (isOpened && before.at !== route.at) document.querySelector("h1")?.focus({ preventScroll: true })
    document.querySelector("tr[aria-current], article[aria-current], .token[aria-current]")
      ?.scrollIntoView({ block: "nearest" })
    if (route.at === "search" && route.text === undefined) document.querySelector("input")?.focus()
    isOpened = true
  }
  Keys.listen(() => ({ screen, data: model.state().data }), (route) => {
    history.pushState(null, "", Route.format(route))
    arrive()
  })
  addEventListener("hashchange", arrive)
  arrive()
}

render(h("main", {}, empty("Opening …")), root)
Source.open().then(start, (error: unknown) => {
  render(h("main", {}, h("p", { class: "problem", role: "alert" }, Text.foreign(String(error)))), root)
})
