/**
 * Writes docs/decisions/README.md, the decisions by area with status and date, from the line below the title of each:
 * `Area: release. Accepted 2026-11-16.` With `--check` only compares.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { root } from './tool.ts'

const folder = path.join(root, 'docs/decisions')
const index = path.join(folder, 'README.md')

interface Decision {
  readonly file: string
  readonly number: string
  readonly title: string
  readonly area: string
  readonly status: string
}

function decisions(): Decision[] {
  const files = readdirSync(folder).filter((file) => /^\d{4}-.+\.md$/.test(file))
  return files.toSorted().map((file) => {
    const page = readFileSync(path.join(folder, file), 'utf8')
    const [, title = file] = /^# (?:\d{4}[:.]? )?(.+)$/m.exec(page) ?? []
    const [, area = 'not sorted yet', status = ''] =
      /^Area: ([^.]+)\. (.+)\.$/m.exec(page.slice(0, 500)) ?? []
    return { file, number: file.slice(0, 4), title, area, status }
  })
}

function text(): string {
  const byArea = Map.groupBy(decisions(), ({ area }) => area)
  const areas = [...byArea.keys()].toSorted()
  const lines = [
    '# Decisions',
    '',
    'The reasons of the design: context, decision, reasons, rejected designs, and figures with their command. One page each, by area.',
    'Written by `npm run format` from the line below the title of each page. A decision is never rewritten when it is replaced: the newer one says so.',
    '',
    areas.map((area) => `[${area}](#${area.toLowerCase().replaceAll(' ', '-')})`).join(' · '),
  ]
  for (const area of areas) {
    lines.push(
      '',
      `## ${area[0]!.toUpperCase()}${area.slice(1)}`,
      '',
      '| | decision | status |',
      '|---|---|---|',
    )
    for (const { file, number, title, status } of byArea.get(area)!) {
      lines.push(`| ${number} | [${title}](${file}) | ${status} |`)
    }
  }
  return `${lines.join('\n')}\n`
}

if (process.argv.includes('--check')) {
  if (!existsSync(index) || readFileSync(index, 'utf8') !== text()) {
    console.error('docs/decisions/README.md does not match the decisions: run `npm run format`.')
    process.exitCode = 1
  }
} else {
  writeFileSync(index, text())
}
