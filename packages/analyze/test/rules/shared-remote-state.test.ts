import { raceTests } from '../support/races.ts'

raceTests('H404', [
  {
    name: 'a database connection for all',
    check: 'select',
    act: 'query',
    race: `export class Reports {
  readonly connection = open()
  async count(database: string) {
    await this.connection.select(database)
    return await this.connection.query('count')
  }
}
`,
    fixed: `import { Mutex } from 'async-mutex'
export class Reports {
  readonly connection = open()
  readonly mutex = new Mutex()
  async count(database: string) {
    return this.mutex.runExclusive(async () => {
      await this.connection.select(database)
      return await this.connection.query('count')
    })
  }
}
`,
  },
])
