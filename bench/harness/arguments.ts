import { parseArgs } from 'node:util'

export interface Arguments {
  readonly suite: string | undefined
  readonly json: boolean
  readonly quick: boolean
  readonly help: boolean
  readonly install: boolean
  readonly offline: boolean
  /** Servers run the built packages. */
  readonly built: boolean
  /** Rows whose name contains one of these; all rows when empty. */
  readonly only: readonly string[]
  /** Entrants by name, besides ours; all when empty. */
  readonly against: readonly string[]
}

export const usage = `Usage: npm run -s bench -- <suite> [--json] [--quick] [--only <part of a row's name>]...

  --json     one JSON array on stdout, nothing else
  --quick    every row once and small: shows that it works, its figures mean little
  --only     play only the rows whose name contains this; may be repeated
  --against  play only this peer (or floor) besides ours; may be repeated
  --install  install servers that are missing with apt-get; needs root
  --offline  fetch nothing: peers that a suite would install are left out
  --built    servers of ours run what \`npm run check\` has built, as users get it, not the sources

Example: npm run -s bench -- engine --only chain`

/** Throws a TypeError that names the fault. */
export function parseArguments(args: readonly string[]): Arguments {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      json: { type: 'boolean', default: false },
      quick: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false, short: 'h' },
      install: { type: 'boolean', default: false },
      offline: { type: 'boolean', default: false },
      built: { type: 'boolean', default: false },
      only: { type: 'string', multiple: true, default: [] },
      against: { type: 'string', multiple: true, default: [] },
    },
  })
  if (positionals.length > 1)
    throw new TypeError(`one suite at a time, not ${positionals.join(', ')}`)
  return { suite: positionals[0], ...values }
}
