/** Whether single characters do something. A person who speaks to the computer, or strikes keys by accident, may switch them off. */

const name = "effect-rl shortcuts"

let isOff = false

/** A page that was opened from a file may have no storage: then the choice lasts as long as the page. */
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
