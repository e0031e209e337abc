/** Whether single-character shortcuts are on. People who use speech input or press keys by accident can switch them off. */

const name = "effect-rl shortcuts"

let isOff = false

/** The stored choice. A page that was opened from a file may have no storage; its choice then lasts as long as the page. */
const stored = () => {
  try {
    return localStorage
  } catch {
    return undefined
  }
}

export const areOff = (): boolean => isOff || stored()?.getItem(name) === "off"

export const toggle = () => {
  isOff = !areOff()
  if (isOff) stored()?.setItem(name, "off")
  else stored()?.removeItem(name)
}
