/** The cost of a piece of work: processor time and wall time in milliseconds. */

export interface Cost {
  readonly cpu: number
  readonly wall: number
}

export const zero: Cost = { cpu: 0, wall: 0 }

export const add = (left: Cost, right: Cost): Cost => ({ cpu: left.cpu + right.cpu, wall: left.wall + right.wall })

/** Starts a measurement. The returned function ends it. */
export const start = () => {
  const [cpu, wall] = [process.cpuUsage(), performance.now()]
  return (): Cost => {
    const { system, user } = process.cpuUsage(cpu)
    return { cpu: (system + user) / 1000, wall: performance.now() - wall }
  }
}
