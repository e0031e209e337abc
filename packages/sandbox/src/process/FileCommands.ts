/** Commands that read and write a file inside a sandbox, so links that a program made cannot lead outside. */

/** Prints the file named by its argument. Exits with `missing` if there is none. */
export const read = (path: string) =>
  ["sh", "-c", "if [ -f \"$1\" ]; then exec cat -- \"$1\"; else exit 44; fi", "sh", `./${path}`] as const

/** Writes its standard input to the file named by its argument. */
export const write = (path: string) =>
  ["sh", "-c", "mkdir -p -- \"$(dirname -- \"$1\")\" && cat > \"$1\"", "sh", `./${path}`] as const

export const missing = 44
