import { isPostgresAddress, quoteWord, type RunSummary } from '@heddle/core/lowlevel'

const runId = String.raw`\d{8}-\d{6}-\w+`
/** The run that it made is resumed, and not made once more. */
const ownFrom = /\s--from[= ](?:(?!\s--?\w).)+/g
const ownJournal = /\s(?:--journal|-j)[= ]('[^']*'|\S+)/
const ownResume = new RegExp(`\\s--resume(?:[= ]${runId})?(?=\\s|$)`, 'g')

/**
 * How to resume a run: its own command with `--resume`, or, where a program started it, the necessary change of that
 * program. A server resumes interrupted runs; a failed or cancelled one
 * runs again when the same input is submitted again.
 */
export function resumeHint(
  { id, command, state, title }: Pick<RunSummary, 'id' | 'command' | 'state' | 'title'>,
  address: string,
  env: Readonly<Record<string, string | undefined>> = process.env,
): string {
  // Started through npx, it is probably not on the path.
  const npx = env['npm_command'] === 'exec' ? 'npx ' : ''
  if (/^heddle serve\b/.test(command)) {
    if (state !== 'interrupted') return `POST /jobs/${title} with the same input`
    return `${npx}heddle serve --store ${quoteWord(address)}`
  }
  if (!/^heddle run\s/.test(command)) {
    return `run(graph, { journal: '${address}', resume: '${id}' })`
  }
  const [own = '', ...args] = command.split(' -- ')
  const kept = inJournal(own.replace(ownFrom, '').replace(ownResume, ''), address)
  return npx + [`${kept} --resume ${quoteWord(id)}`, ...args].join(' -- ')
}

/** A run that was copied to PostgreSQL is resumed there, and not in the file that its command names. */
function inJournal(command: string, address: string): string {
  const [, named = ''] = ownJournal.exec(command) ?? []
  if (!isPostgresAddress(address) || isPostgresAddress(named)) return command
  return `${command.replace(ownJournal, '')} --journal ${quoteWord(address)}`
}
