import type { Suite } from '../../harness/row.ts'
import { rows as browser } from './browser.ts'
import { rows as layout } from './layout.ts'
import { liveTabRow } from './live-tab.ts'
import { runsListRow } from './runs-list.ts'
import { sizeRow } from './size.ts'

export const suite: Suite = {
  name: 'ui',
  summary:
    'the dashboard: large graphs and runs in a real Chromium, a live tab, a million runs, sizes',
  rows: [sizeRow, ...layout, ...browser, runsListRow, liveTabRow],
}
