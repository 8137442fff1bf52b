/** Runs with chosen times, for tests that compare text. Import it first: it sets the time zone. */
import { storyStart as zero } from '@heddle/core/testing'
import type { Surface } from '../../src/runs/with-journal.ts'
import {
  asciiTimelineSymbols,
  unicodeTimelineSymbols,
} from '../../src/runs/timeline/timeline-symbols.ts'
import { textOf, type Line } from '../../src/text/line.ts'
import { asciiSymbols, unicodeSymbols } from '../../src/text/symbols.ts'

process.env['TZ'] = 'UTC'

export {
  placedNode as placed,
  sampleStory as build,
  storyJournal as told,
  storyNode as node,
  storyStart as zero,
  type Story,
  type StoryRow as Row,
} from '@heddle/core/testing'

export function surfaceOf(more: Partial<Surface> = {}): Surface {
  return {
    symbols: unicodeSymbols,
    timelineSymbols: unicodeTimelineSymbols,
    columns: undefined,
    now: zero + 200_000,
    json: false,
    address: 'sqlite:runs.db',
    ...more,
  }
}

export const plainSurface: Surface = surfaceOf({
  symbols: asciiSymbols,
  timelineSymbols: asciiTimelineSymbols,
})

export function text(lines: readonly Line[]): string {
  return lines.map(textOf).join('\n')
}

/** A text as it is written in a test: two columns to the right of the end of the template. */
export function picture(strings: TemplateStringsArray): string {
  const lines = strings.raw[0]!.split('\n')
  const indent = lines.pop()!.length + 2
  return lines
    .slice(1)
    .map((line) => line.slice(indent))
    .join('\n')
}
