/** Writes docs/reference/http.md from the table of routes, and docs/reference/metrics.md from the code that reports metrics; with `--check` only compares. */
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { Contract } from '../packages/server/src/client/contract/contract.ts'
import { api } from '../packages/server/src/client/contract/api.ts'
import { root } from './tool.ts'

/** What a schema says, as far as the page shows it. */
interface Shown {
  readonly type?: string
  readonly enum?: readonly unknown[]
  readonly minimum?: number
  readonly maximum?: number
  readonly maxLength?: number
  readonly description?: string
  readonly expected?: string
}

interface ShownObject {
  readonly properties?: Readonly<Record<string, Shown>>
  readonly required?: readonly string[]
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ')
}

function kindOf({ type, enum: values, minimum, maximum, expected }: Shown): string {
  if (expected !== undefined) return expected
  if (values !== undefined) return values.map((value) => `\`${String(value)}\``).join(', ')
  const range =
    minimum === undefined || maximum === undefined
      ? ''
      : `, ${minimum.toLocaleString('en')} to ${maximum.toLocaleString('en')}`
  return `${type ?? 'any JSON'}${range}`
}

function rowsOf(where: string, schema: unknown): string[] {
  const { properties = {}, required = [] } = (schema ?? {}) as ShownObject
  return Object.entries(properties).map(([name, shown]) => {
    const need = required.includes(name) ? 'required' : ''
    return `| ${where} | \`${name}\` | ${cell(kindOf(shown))} | ${need} | ${cell(shown.description ?? '')} |`
  })
}

function answersOf({ responses }: Contract): string {
  return Object.entries(responses)
    .map(([status, kind]) => `${status} ${typeof kind === 'string' ? kind : 'JSON'}`)
    .join(', ')
}

function section(route: Contract): string[] {
  const { method, path: address, summary, access, body } = route
  const rows = [
    ...rowsOf('path', route.params),
    ...rowsOf('query', route.query),
    ...rowsOf('body', route.bodySchema),
  ]
  return [
    '',
    `### ${method} ${address}`,
    '',
    `${summary}. Access: \`${access}\`. Body: ${body}. Answers: ${answersOf(route)}.`,
    ...(rows.length === 0
      ? []
      : ['', '| in | name | value | | |', '|---|---|---|---|---|', ...rows]),
  ]
}

/** Routes by the first part of their path. */
function httpPage(): string {
  const groups = Map.groupBy(api as readonly Contract[], ({ path: address }) =>
    address === '/' ? '/' : `/${address.split('/')[1]!}`,
  )
  const lines = [
    '# HTTP',
    '',
    'Every route of `heddle serve`, written from the table that validates requests; `GET /openapi.json` of a running server has the same for machines. Errors are',
    '`{ error: { code, message, retryable, retry_after_ms?, stage? } }`; [serving jobs](../guide/serve.md) explains the routes with `curl`.',
    '',
    'Access is the right that a caller needs: `viewer`, `operator` and `admin` are roles of users, each with the rights of those before it; `submit` and `worker` are scopes of tokens. On',
    'loopback, without users and tokens, every caller may do everything.',
  ]
  for (const [group, routes] of [...groups].toSorted(([a], [b]) => a.localeCompare(b))) {
    lines.push('', `## ${group}`)
    for (const route of routes) lines.push(...section(route))
  }
  return `${lines.join('\n')}\n`
}

/** Names and help texts in the code: the options of a server decide which of them it reports. */
function metricsPage(): string {
  const found = new Map<string, string>()
  const text = /'(heddle_[a-z_]+)',\s*(?:help: )?'((?:\\.|[^'\\])+)'/g
  for (const file of globSync('packages/server/src/**/*.ts', { cwd: root })) {
    const source = readFileSync(path.join(root, file), 'utf8')
    for (const [, name, help] of source.matchAll(text))
      found.set(name!, help!.replaceAll("\\'", "'"))
  }
  const rows = [...found]
    .toSorted(([a], [b]) => a.localeCompare(b))
    .map(([name, help]) => `| \`${name}\` | ${cell(help)} |`)
  return `${[
    '# Metrics',
    '',
    'What `GET /metrics` of `heddle serve` reports, for Prometheus. Rooms that are not used report nothing. [alerts.yml](../guide/alerts.yml) has rules for them.',
    '',
    '| name | |',
    '|---|---|',
    ...rows,
  ].join('\n')}\n`
}

for (const [name, text] of [
  ['docs/reference/http.md', httpPage()],
  ['docs/reference/metrics.md', metricsPage()],
] as const) {
  const file = path.join(root, name)
  if (!process.argv.includes('--check')) writeFileSync(file, text)
  else if (!existsSync(file) || readFileSync(file, 'utf8') !== text) {
    console.error(`${name} does not match the code: run \`npm run format\`.`)
    process.exitCode = 1
  }
}
