/** Names that the compiler invents for nameless things, such as `__type` and `__function`. */
const invented = /^__(?!#)|^default$|^export=$|^"/

/** The name of a symbol as people write it; undefined when there is none. */
export function writtenName(name: string): string | undefined {
  // A private name carries the number of its class.
  const own = /^__#\d+@(#.+)$/.exec(name)?.[1]
  if (own !== undefined) return own
  return name === '' || invented.test(name) ? undefined : name
}
