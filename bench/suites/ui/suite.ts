import type { Suite } from '../../harness/row.ts'
import { rows as browser } from './browser.ts'
import { rows as layout } from './layout.ts'

export const suite: Suite = {
  name: 'ui',
  summary: 'the dashboard: layout of large graphs, and large runs in a real Chromium',
  rows: [...layout, ...browser],
}
