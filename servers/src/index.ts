export { findProgram, postgresPrograms, type ServerProgram } from './find.ts'
export { freePort } from './free-port.ts'
export { serverIdentity } from './identity.ts'
export { openKeeper, type Keeper } from './keep.ts'
export { portsTried } from './ports-tried.ts'
export {
  openPostgres,
  postgresOwner,
  startPostgres,
  type PostgresServer,
  type StartPostgresOptions,
} from './postgres.ts'
export { openDatabase, provideTestPostgres, type TestDatabase } from './test-postgres.ts'
export { testStores, type TestStore } from './test-stores.ts'
export { waitLine } from './wait-line.ts'
