/** Commands that read and write a file in a sandbox, so that no link that a program made leads out of it. */

/** Prints the file that its argument names; exits with `missing` where there is none. */
export const read = (path: string) =>
  ["sh", "-c", "if [ -f \"$1\" ]; then exec cat -- \"$1\"; else exit 44; fi", "sh", `./${path}`] as const

/** Writes its standard input to the file that its argument names. */
export const write = (path: string) =>
  ["sh", "-c", "mkdir -p -- \"$(dirname -- \"$1\")\" && cat > \"$1\"", "sh", `./${path}`] as const

export const missing = 44
