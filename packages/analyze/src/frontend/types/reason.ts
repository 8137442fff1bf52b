/**
 * The message of whatever was thrown. Not the one of `@heddle/core`: that would load the whole package
 * into the thread of the compiler, which takes longer than loading the compiler.
 */
export function reasonOf(thrown: unknown): string {
  if (thrown instanceof Error) return thrown.message || thrown.name
  return typeof thrown === 'string' ? thrown : `[${typeof thrown}]`
}
