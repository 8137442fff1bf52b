/** Whatever is clicked and typed, in whatever order: the page shows no error and stays usable. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { seededRandom } from '@heddle/core/lowlevel'
import { openPage } from './browser.ts'
import { openServed } from './served.ts'

const keys = [
  '/',
  '?',
  'Escape',
  'Enter',
  'j',
  'k',
  'o',
  'x',
  'g',
  'r',
  'l',
  't',
  'u',
  '1',
  '2',
  '3',
  '4',
  '5',
  '6',
  '+',
  '-',
  '0',
  'h',
  '[',
  ']',
  '=',
  'v',
  's',
  'Tab',
  'ArrowRight',
  'ArrowDown',
  'p',
  'q',
]
const actions = 120

/** An action may come too late, for a run that has ended: the server refuses it, and the browser itself reports that. */
function unexpected(problems: readonly string[]): string[] {
  return problems.filter((problem) => !/responded with a status of 409/.test(problem))
}

for (const seed of [1, 20_261_117]) {
  test(`${actions} random actions leave no error in the console (seed ${seed})`, async () => {
    const random = seededRandom(seed)
    const pick = <T>(list: readonly T[]): T => list[Math.floor(random.next() * list.length)]!
    await using served = await openServed()
    await served.start('shaky')
    await served.start('wide')
    const run = await served.start('diamond')
    const { page, context, problems } = await openPage(`${served.url}/ui/#/runs/${run}`)
    await page.locator('.run-head').waitFor()
    for (let i = 0; i < actions; i++) {
      const what = random.next()
      if (what < 0.5) {
        await page.keyboard.press(pick(keys))
      } else if (what < 0.6) {
        await page.mouse.click(220 + random.next() * 1_100, 60 + random.next() * 760)
      } else {
        // In the page: an element may be gone by the time a locator has found it.
        const choice = random.next()
        await page.evaluate((share) => {
          const all = [
            ...document.querySelectorAll<HTMLElement>(
              'button:not(:disabled), a[href^="#"], [role=option], input[type=checkbox]',
            ),
          ]
          all[Math.floor(share * all.length)]?.click()
        }, choice)
      }
      if (i === 60) for (const gate of ['fetch', 'left', 'right', 'join']) served.gates.open(gate)
      assert.deepEqual(unexpected(problems), [], `after action ${i} of seed ${seed}`)
    }
    await page.keyboard.press('Escape')
    await page.keyboard.press('Escape')
    await page.evaluate(() => {
      location.hash = '#/runs'
    })
    await page.getByRole('heading', { name: 'Runs', exact: true }).waitFor()
    assert.deepEqual(unexpected(problems), [])
    await context.close()
  })
}
