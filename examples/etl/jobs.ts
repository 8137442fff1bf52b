/** The jobs: each says where it runs and what it needs. */
import { final, job, retryAfter } from '@heddle/core'

export interface Sale {
  readonly shop: string
  readonly cents: number
}

/** Which pages there are is known only after the list has been fetched. */
export const listPages = job({ name: 'list' }, async (site: string, { signal }) => {
  const response = await fetch(`${site}/pages`, { signal })
  const pages = (await response.json()) as readonly string[]
  return pages.map((page) => site + page)
})

/** One request: as many in a second as `resources.site` of the run allows. A page that is not there is not asked for again. */
export const fetchPage = job(
  { name: 'fetch', needs: { site: 1 }, retries: 5 },
  async (page: string, { signal }) => {
    const response = await fetch(page, { signal })
    if (response.status === 404) throw final(new Error(`${page} does not exist`))
    if (response.status === 429) {
      const seconds = Number(response.headers.get('retry-after') ?? 1)
      throw retryAfter(seconds * 1_000, new Error(`${page}: too many requests`))
    }
    if (!response.ok) throw new Error(`${page} answered ${response.status}`)
    return response.text()
  },
)

/** Computes, so it runs in a thread: `shop;cents` in each line. */
export const parsePage = job(
  { name: 'parse', place: 'thread', module: import.meta.url },
  (page: string): Sale[] =>
    page
      .trim()
      .split('\n')
      .map((line) => {
        const [shop, cents] = line.split(';') as [string, string]
        return { shop, cents: Number(cents) }
      }),
)

/** The sales of each shop, as a value and as a file that is kept with the run. */
export const report = job(
  { name: 'report' },
  async (pages: readonly (readonly Sale[])[], { artifact }) => {
    const totals = new Map<string, number>()
    for (const { shop, cents } of pages.flat()) {
      totals.set(shop, (totals.get(shop) ?? 0) + cents)
    }
    const rows = [...totals].sort(([, a], [, b]) => b - a)
    await artifact('report.csv', rows.map(([shop, cents]) => `${shop};${cents}\n`).join(''))
    return rows.map(([shop, cents]) => ({ shop, cents }))
  },
)
