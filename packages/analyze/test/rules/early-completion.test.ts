import { raceTests } from '../support/races.ts'

raceTests('H203', [
  {
    name: 'a second caller that is sent away at once',
    check: 'if (this.loading)',
    race: `export class Config {
  loading = false
  values: Values | undefined
  async load() {
    if (this.loading) return
    this.loading = true
    try {
      this.values = await readValues()
    } finally {
      this.loading = false
    }
  }
  async get(name: string) {
    await this.load()
    return this.values[name]
  }
}
`,
    fixed: `export class Config {
  loading: Promise<Values> | undefined
  load() {
    this.loading ??= readValues()
    return this.loading
  }
  async get(name: string) {
    const values = await this.load()
    return values[name]
  }
}
`,
  },
])
