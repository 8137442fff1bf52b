/** The text as a pattern that matches exactly this text. `RegExp.escape` is not in Node 22. */
export function escapePattern(text: string): string {
  // A hyphen has a meaning only inside brackets, and `\-` is an error outside of them with the flag u.
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&').replaceAll('-', '\\x2d')
}
