/** Regular expressions of every kind, for properties that hold for all of them. */
import fc from 'fast-check'

const atoms = String.raw`a b c . [ab] [^a] \w \W \d \s \b \B ^ $ \u0041`.split(' ')
const atom = fc.constantFrom(...atoms)
const quantifier = fc.constantFrom(...'* + ? *? +? ?? {2} {1,2} {2,} {0,3}?'.split(' '))

export const { pattern } = fc.letrec<{ pattern: string }>((tie) => ({
  pattern: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    atom,
    fc.tuple(tie('pattern'), tie('pattern')).map(([a, b]) => a + b),
    tie('pattern').map((body) => `(${body})`),
    fc.tuple(tie('pattern'), tie('pattern')).map(([a, b]) => `(?:${a}|${b})`),
    fc.tuple(tie('pattern'), quantifier).map(([body, times]) => `(?:${body})${times}`),
    fc
      .tuple(fc.constantFrom('=', '!', '<=', '<!'), tie('pattern'))
      .map(([kind, body]) => `(?${kind}${body})`),
    tie('pattern').map((body) => `(${body})\\1`),
  ),
}))
