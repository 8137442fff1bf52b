import { fileURLToPath } from 'node:url'
import type { PackageReport, ReleaseOutcome, ReleaseReport } from '@heddle/release'
import type { Output, Reported, Tool } from './tool.ts'

const program = fileURLToPath(new URL('../../../../packages/cli/bin/heddle.js', import.meta.url))

export const heddle: Tool = {
  title: 'heddle release publish --visibility 10s',
  command: {
    file: process.execPath,
    // Otherwise it waits half an hour for a version that never shows.
    args: [program, 'release', 'publish', '--visibility', '10s', '--json'],
  },
  files: {},
  isLinked: false,
  read: readReport,
}

const failures: readonly ReleaseOutcome[] = ['failed', 'conflict']
const unfinished: readonly ReleaseOutcome[] = ['blocked', 'skipped', 'accepted-not-visible']

/** The last line is the report. */
function readReport({ stdout, stderr }: Output): Reported {
  const line = stdout.trimEnd().split('\n').at(-1) ?? ''
  const { packages, error } = parse(line)
  const named = (outcomes: readonly ReleaseOutcome[]): string[] =>
    packages.filter(({ outcome }) => outcomes.includes(outcome)).map(({ name }) => name)
  const problem = packages.flatMap(({ problems }) => problems)[0]?.message
  return {
    published: named(['published']),
    already: named(['already-published']),
    failed: named(failures),
    notDone: named(unfinished),
    message: problem ?? error?.message ?? (packages.length === 0 ? stderr.trim().slice(-300) : ''),
  }
}

interface Answer {
  readonly packages: readonly PackageReport[]
  readonly error?: { readonly message: string }
}

function parse(line: string): Answer {
  try {
    const { packages = [], ...rest } = JSON.parse(line) as Partial<ReleaseReport> & Partial<Answer>
    return { ...rest, packages }
  } catch {
    // The tool was ended before it could print anything.
    return { packages: [] }
  }
}
