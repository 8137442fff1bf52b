/** How a chaos program reads its call: options are whole numbers, and a wrong call is one sentence with exit code 2. */

class WrongCall extends Error {}

/** A call that cannot be played as it is written. */
export function wrongCall(message: string): Error {
  return new WrongCall(message)
}

/** Whether this is the mistake of a caller, by our check or by that of `parseArgs`. */
export function isWrongCall(error: unknown): error is Error {
  const code = (error as { code?: unknown } | null | undefined)?.code
  return error instanceof WrongCall || String(code).startsWith('ERR_PARSE_ARGS')
}

export function wholeNumbers<K extends string>(
  values: Readonly<Record<K, string>>,
  names: readonly K[],
): Readonly<Record<K, number>> {
  const entries = names.map((name) => {
    const value = Number(values[name])
    if (Number.isInteger(value) && value >= 0) return [name, value] as const
    throw wrongCall(`--${name} ${values[name]}: expected a whole number`)
  })
  return Object.fromEntries(entries) as Record<K, number>
}

/** A seed for a call that names none. It is printed, so that the call can be repeated. */
export function anySeed(): string {
  return String(Math.floor(Math.random() * 2 ** 31))
}
