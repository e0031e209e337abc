/** The page's header: the path to the current screen, and links to other screens. */
import { type Child, h } from "./Dom.ts"
import * as Keys from "./Keys.ts"
import type * as Route from "./Route.ts"
import { type Data, link } from "./Screen.ts"
import * as Text from "./Text.ts"

/** Links for all levels from the list of runs to the open screen. */
const path = (
  { at, evaluator, iteration = 0, member, run }: Route.Route
): ReadonlyArray<readonly [Route.Level, string]> => {
  const place = evaluator === undefined ? Text.iteration(iteration) : Text.measured(evaluator, iteration)
  const levels: ReadonlyArray<readonly [Route.Level, string]> = [
    ["runs", "runs"],
    ["run", Text.foreign(run ?? "")],
    ["iteration", Text.foreign(place)],
    ["group", "group"],
    ["member", `member ${member ?? 0}`]
  ]
  if (at === "search" || at === "metrics" || at === "rollouts" || at === "problems") {
    return [...levels.slice(0, 2), [at, at]]
  }
  if (at === "compare") return [["runs", "runs"], ["compare", "comparison"]]
  return levels.slice(0, levels.findIndex(([level]) => level === at) + 1)
}

const crumbs = (route: Route.Route): Child => {
  const levels = path(route)
  return h(
    "nav",
    { class: "crumbs", "aria-label": "path" },
    ...levels.map(([level, text], at) =>
      at === levels.length - 1
        ? h("span", { key: level, "aria-current": "page" }, text)
        : h("span", { key: level }, link({ ...route, at: level }, text))
    )
  )
}

export const draw = ({ route }: Data): Child =>
  h(
    "header",
    {},
    h("strong", {}, "effect-rl"),
    crumbs(route),
    route.run === undefined || route.at === "runs" || route.at === "compare"
      ? undefined
      : h(
        "nav",
        { class: "steps", "aria-label": "of the run" },
        link({ at: "metrics", run: route.run }, "metrics", route.at === "metrics"),
        link({ at: "rollouts", run: route.run }, "rollouts", route.at === "rollouts"),
        link({ at: "problems", run: route.run }, "problems", route.at === "problems"),
        link({ at: "search", run: route.run }, "search (/)", route.at === "search")
      ),
    h("button", { type: "button", class: "help", "aria-label": "keys", onClick: Keys.showHelp }, "?")
  )
