/**
 * `.name(`, `?.name?.(`, `.name<T>(`. Methods of `this` and `super` and of names in capitals (`Math.max`)
 * are understood without a compiler, mostly.
 */
const call = /(?<!\b(?:this|super|[A-Z][\w$]*)\??)\.\s*(?=(#?[\w$]+)(?:<[^()\n]*>)?\s*(?:\?\.)?\()/g

/** Positions of names that the compiler will be asked about: a guess, from the text alone. */
export function likelyCalls(text: string): readonly number[] {
  const positions: number[] = []
  for (const { index, 0: dot } of text.matchAll(call)) positions.push(index + dot.length)
  return positions
}
