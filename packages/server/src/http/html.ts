/** Text inside HTML: whatever it holds, it stays text. */
export function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (char) => `&#${char.codePointAt(0)};`)
}
