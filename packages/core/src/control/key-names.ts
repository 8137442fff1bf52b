/** Names for the sequences that a terminal sends in raw mode. */

const named: Readonly<Record<string, string>> = {
  '\r': 'enter',
  '\n': 'enter',
  '\t': 'tab',
  ' ': 'space',
  '\x7f': 'backspace',
  '\b': 'backspace',
  '\x1b': 'escape',
  '\x1b[A': 'up',
  '\x1b[B': 'down',
  '\x1b[C': 'right',
  '\x1b[D': 'left',
  '\x1bOA': 'up',
  '\x1bOB': 'down',
  '\x1bOC': 'right',
  '\x1bOD': 'left',
  '\x1b[H': 'home',
  '\x1b[F': 'end',
  '\x1b[5~': 'page-up',
  '\x1b[6~': 'page-down',
}

// Escape sequences of terminals (CSI, SS3), Alt with a character, and single characters.
// oxlint-disable-next-line no-control-regex -- control characters are what this is about
const oneKey = /\x1b\[[0-?]*[ -/]*[@-~]|\x1bO[@-~]|\x1b[^\x1b]|[^]/gu

function nameOf(sequence: string): string | undefined {
  const known = named[sequence]
  if (known !== undefined) return known
  if (sequence.length > 1 && sequence.startsWith('\x1b')) {
    const rest = sequence.slice(1)
    // A sequence without a name here (F5, a mouse report) is not a key that was asked for.
    return rest.startsWith('[') || rest.startsWith('O') ? undefined : `alt-${nameOf(rest) ?? rest}`
  }
  const code = sequence.charCodeAt(0)
  return code < 32 ? `ctrl-${String.fromCharCode(code + 96)}` : sequence
}

/** The keys in a chunk of input: `p`, `Q`, `ctrl-c`, `enter`, `up`, `alt-x`. */
export function decodeKeys(text: string): string[] {
  const keys: string[] = []
  for (const [sequence] of text.matchAll(oneKey)) {
    const name = nameOf(sequence)
    if (name !== undefined) keys.push(name)
  }
  return keys
}
