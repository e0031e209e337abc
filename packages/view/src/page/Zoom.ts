/** The part of a run that its curves show. */
import type { Route } from "./Route.ts"

/** The first and last iteration, counted from 1; 0 is before training. */
export interface Part {
  readonly from: number
  readonly to: number
}

export const isWhole = ({ from, to }: Route) => from === undefined && to === undefined

export const whole = (route: Route): Route => ({ ...route, from: undefined, to: undefined })

/**
 * The part that the route shows of a run whose last iteration is `last`. The whole run, if the part would be shorter than two iterations.
 */
export const part = (route: Route, last: number): Part => {
  const [from, to] = [Math.max(0, route.from ?? 0), Math.min(last, route.to ?? last)]
  return to - from < 1 ? { from: 0, to: Math.max(1, last) } : { from, to }
}

/** The route that shows the part between two iterations, given in either order. */
export const between = (route: Route, one: number, other: number): Route => ({
  ...route,
  from: Math.max(0, Math.floor(Math.min(one, other))),
  to: Math.ceil(Math.max(one, other))
})

/** The route that shows a part `factor` times as long, around the selected iteration. */
export const scaled = (route: Route, last: number, factor: number): Route => {
  const { from, to } = part(route, last)
  const length = Math.max(2, Math.round((to - from) * factor))
  if (length >= last) return whole(route)
  const middle = route.iteration === undefined ? (from + to) / 2 : route.iteration + 1
  const begin = Math.max(0, Math.min(last - length, Math.round(middle - length / 2)))
  return { ...route, from: begin, to: begin + length }
}
