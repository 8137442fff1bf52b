/** The inventory as a document for people. */
import type { Tag } from '../models/model.ts'
import type {
  EntryPoint,
  FileSection,
  HotSpot,
  Inventory,
  MatrixRow,
  Risk,
  TaggedName,
  WorkItem,
} from './inventory.ts'

export interface MarkdownOptions {
  /** Put before paths in links, when the document lies elsewhere: `../../`. */
  readonly linkBase?: string
  /** The subject of the inventory, for the first paragraph. */
  readonly subject?: string
  /** `false` leaves line numbers out: a stored page then changes only with its content. */
  readonly withLines?: boolean
}

/** Where things are, as text. */
interface Places {
  /** A link to a line of a file. */
  readonly link: (file: string, line: number) => string
  /** A link to a file. */
  readonly file: (file: string) => string
  /** ` (line 5; note)`, ` (other.ts:5)`; empty when there is nothing to say. */
  readonly note: (parts: readonly (string | undefined)[]) => string
  readonly withLines: boolean
}

function placesFor({ linkBase = '', withLines = true }: MarkdownOptions): Places {
  return {
    withLines,
    file: (file) => `[${file}](${linkBase}${file})`,
    link: (file, line) =>
      withLines
        ? `[${file}:${line}](${linkBase}${file}#L${line})`
        : `[${file}](${linkBase}${file})`,
    note: (parts) => {
      const said = parts.filter((part) => part !== undefined)
      return said.length === 0 ? '' : ` (${said.join('; ')})`
    },
  }
}

const legend: readonly (readonly [Tag, string])[] = [
  ['LOOP', 'Runs on the event loop. Must be quick: everything else waits.'],
  [
    'CPU/LOOP',
    'Holds the event loop: computing, or waiting for the disk or a process, without giving it back.',
  ],
  [
    'THREAD:uv',
    'Runs in the pool of libuv, which the whole process shares (4 threads by default).',
  ],
  ['THREAD', "Runs in a worker thread, or as a Heddle job with `place: 'thread'`."],
  [
    'STREAM/THREAD',
    'A stream whose chunks are made in a thread; handling each chunk is on the loop.',
  ],
  ['PROC', 'Runs in another process.'],
  ['REMOTE', 'Runs on another machine.'],
]

const maxCell = 5

export function inventoryMarkdown(inventory: Inventory, options: MarkdownOptions = {}): string {
  const places = placesFor(options)
  const { summary } = inventory
  const subject = options.subject ?? plural(summary.files, 'file')
  const lines = [
    '# Async boundaries inventory',
    '',
    `What runs on the event loop and what does not, in ${subject}. Made from the code by \`heddle analyze --inventory\`: a function that is only reached through a value the analyzer cannot follow is missing here.`,
    '',
    '## Entry-point matrix',
    '',
    ...matrix(inventory.matrix),
    '',
    '## Legend',
    '',
    ...legend.map(([tag, text]) => `- **[${tag}]** ${text}`),
    '',
    'An `async` function is not thereby non-blocking: it is on the loop until its first `await`, and again after each.',
    '',
    ...hotSpots(inventory.hotSpots, places),
    ...sectionLines(inventory.sections, places),
    ...summaryLines(inventory, places),
    ...invariantLines(inventory, places),
  ]
  return `${lines
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .trimEnd()}\n`
}

function matrix(rows: readonly MatrixRow[]): readonly string[] {
  if (rows.length === 0) return ['No entry points were found.']
  return [
    '| Component | Loop work | Elsewhere | Remaining on the loop |',
    '|---|---|---|---|',
    ...rows.map(
      ({ component, loop, elsewhere, remaining }) =>
        `| \`${component}\` | ${loop.join(', ') || 'called by others'} | ${cell(elsewhere, true)} | ${cell(remaining, false) || 'none known'} |`,
    ),
  ]
}

function cell(names: readonly TaggedName[], withTag: boolean): string {
  if (names.length === 0) return withTag ? '–' : ''
  const shown = names.slice(0, maxCell).map(({ tag, name, count }) => {
    const times = count === 1 ? '' : ` ×${count}`
    return `${withTag ? `[${tag}] ` : ''}${code(name)}${times}`
  })
  const rest = names.length - maxCell
  return `${shown.join(', ')}${rest > 0 ? `, ${rest} more` : ''}`
}

const hotTitles: Readonly<Record<HotSpot['reach'], string>> = {
  serving: 'On the path of requests, jobs, timers and events',
  'callers-wait': 'When an exported function is called',
  'start-up': 'At start-up, in commands, and as the process ends',
}

function hotSpots(spots: readonly HotSpot[], places: Places): readonly string[] {
  const lines = ['## Hot spots by reach', '']
  if (spots.length === 0) return [...lines, 'Nothing that is known to hold the loop was found.', '']
  for (const reach of ['serving', 'callers-wait', 'start-up'] as const) {
    const own = spots.filter((spot) => spot.reach === reach)
    lines.push(`### ${hotTitles[reach]}`, '')
    if (own.length === 0) lines.push('None.', '')
    for (const [first, ...others] of together(own)) lines.push(hotSpot(first, others, places))
    lines.push('')
  }
  return lines
}

/** Equally bad spots of one function, on one line. */
function together(spots: readonly HotSpot[]): readonly (readonly [HotSpot, ...HotSpot[]])[] {
  const groups = new Map<string, [HotSpot, ...HotSpot[]]>()
  for (const spot of spots) {
    const key = `${spot.level} ${spot.rule} ${spot.file} ${spot.way.join(' ')}`
    const known = groups.get(key)
    if (known === undefined) groups.set(key, [spot])
    else known.push(spot)
  }
  return [...groups.values()]
}

function hotSpot(first: HotSpot, others: readonly HotSpot[], places: Places): string {
  const { rule, level, file, line, way, instead } = first
  const names = [first, ...others].map(({ name }) => code(name))
  const route =
    way.length > 1 ? `: ${way.map((one) => code(one)).join(' → ')}` : ` in ${code(way[0] ?? '')}`
  const better = instead === undefined ? '' : `. Instead: ${instead}`
  return `- ${shortList(names)}${route} (${places.link(file, line)}; ${level} ${rule})${better}`
}

/** A section for each file with something to tell; the others share the last one. */
function sectionLines(sections: readonly FileSection[], places: Places): readonly string[] {
  const isPlain = ({ entryPoints, risk }: FileSection): boolean =>
    entryPoints.length === 0 && risk.length === 0
  const told = sections.filter((section) => !isPlain(section))
  const plain = sections.filter(isPlain)
  const lines = told.flatMap((section, i) => fileSection(section, i + 1, places))
  if (plain.length === 0) return lines
  return [
    ...lines,
    '---',
    '',
    `## ${told.length + 1}. Files without heavy calls`,
    '',
    ...plain.map(
      ({ file, light, runsIn }) =>
        `- **[${runsIn === 'thread' ? 'THREAD' : 'LOOP'}]** ${places.file(file)}: ${nameList(light)}`,
    ),
    '',
  ]
}

function fileSection(section: FileSection, number: number, places: Places): readonly string[] {
  const { file, entryPoints, light, risk, runsIn } = section
  return [
    '---',
    '',
    `## ${number}. ${code(file)}`,
    '',
    `File: ${places.file(file)}${runsIn === 'thread' ? ' (runs in a thread)' : ''}`,
    '',
    ...(entryPoints.length + light.length === 0 ? ['Called by others only.'] : []),
    ...entryPoints.flatMap((entry) => entryLines(entry, file, places)),
    ...(light.length === 0 ? [] : [lightLine(light, entryPoints.length > 0)]),
    '',
    `Event-loop blocking risk:${risk.length === 0 ? ' none known.' : ''}`,
    ...(risk.length === 0 ? [] : ['', ...risk.map((one) => riskLine(one, places))]),
    '',
  ]
}

function riskLine({ level, rule, line, message }: Risk, { withLines }: Places): string {
  return `- ${level} ${rule}${withLines ? `, line ${line}` : ''}: ${message}`
}

function lightLine(light: readonly string[], hasOthers: boolean): string {
  return `- **[LOOP]** ${hasOthers ? 'without heavy calls: ' : ''}${nameList(light)}`
}

function nameList(names: readonly string[]): string {
  const shown = names.slice(0, 8).map(code).join(', ')
  return `${shown}${names.length > 8 ? ` and ${names.length - 8} more` : ''}`
}

function entryLines(entry: EntryPoint, file: string, places: Places): readonly string[] {
  const { tag, name, line, work } = entry
  return [
    `- **[${tag}]** ${code(name)}${places.note([places.withLines ? `line ${line}` : undefined])}`,
    ...work.flatMap((item) => workLines(item, file, 1, places)),
  ]
}

function workLines(item: WorkItem, file: string, depth: number, places: Places): readonly string[] {
  const { tag, name, line, note, inside = [] } = item
  const isElsewhere = item.file !== file
  const where = places.withLines
    ? isElsewhere
      ? `${item.file}:${line}`
      : `line ${line}`
    : isElsewhere
      ? item.file
      : undefined
  return [
    `${'  '.repeat(depth)}- **[${tag}]** ${code(name)}${places.note([where, note])}`,
    ...inside.flatMap((one) => workLines(one, item.file, depth + 1, places)),
  ]
}

function summaryLines({ summary, hotSpots: spots }: Inventory, places: Places): readonly string[] {
  const on = spots.filter(({ reach }) => reach !== 'start-up')
  const calls = (tag: Tag): string => plural(summary.callsByTag[tag] ?? 0, 'call')
  return [
    '---',
    '',
    '## Summary: what still runs on the loop?',
    '',
    `- Orchestration: ${plural(summary.entryPoints, 'entry point')} in ${plural(summary.files, 'file')}.`,
    ...(on.length === 0 ? ['- Nothing else that is known to be slow after start-up.'] : []),
    ...[...Map.groupBy(on, ({ file }) => file)].map(([file, own]) => {
      const names = [...new Set(own.map(({ name }) => code(name)))]
      return `- **[CPU/LOOP]** ${shortList(names)} in ${places.link(file, own[0]?.line ?? 1)}`
    }),
    '',
    `Elsewhere: ${calls('THREAD:uv')} to the pool of libuv, ${calls('THREAD')} in threads, ${calls('STREAM/THREAD')} to streams from threads, ${calls('PROC')} to processes, ${calls('REMOTE')} to other machines.`,
    '',
  ]
}

function invariantLines({ invariants }: Inventory, places: Places): readonly string[] {
  if (invariants.length === 0) return []
  return [
    '## Run-time invariants',
    '',
    ...invariants.map(({ text, at }) => {
      const told = at.map(({ name, file, line }) => {
        const where = places.link(file, line)
        return name === undefined ? where : `${code(name)} (${where})`
      })
      return told.length === 0 ? `- ${text}.` : `- ${text}: ${told.join(', ')}.`
    }),
  ]
}

function shortList(names: readonly string[]): string {
  return names.length > 4
    ? `${names.slice(0, 3).join(', ')} and ${names.length - 3} more`
    : names.join(', ')
}

/** Escapes bars, which would end a cell. */
function code(text: string): string {
  return `\`${text.replaceAll('`', "'").replaceAll('|', '\\|')}\``
}

function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}
