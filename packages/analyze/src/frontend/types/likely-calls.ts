/**
 * A comment, or `.name(`, `?.name?.(`, `.name<T>(`. Methods of `this`, `super` and classes (`Math.max`) are
 * understood without a compiler, mostly.
 */
const commentOrCall =
  /\/\*[^]*?\*\/|\/\/.*|(?<!\b(?:this|super|[A-Z]\w*[a-z]\w*)\??)\.\s*(?=#?[\w$]+(?:<[^()\n]*>)?\s*(?:\?\.)?\()/g

/** Positions of names that the compiler will be asked about: a guess, from the text alone. */
export function likelyCalls(text: string): readonly number[] {
  const positions: number[] = []
  for (const { index, 0: found } of text.matchAll(commentOrCall)) {
    if (found.startsWith('.')) positions.push(index + found.length)
  }
  return positions
}
