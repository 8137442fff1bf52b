import { DatabaseSync } from 'node:sqlite'

/** From now on no row can be written to this file, as on a disk that is full. */
export function breakStore(file: string): void {
  using database = new DatabaseSync(file, { timeout: 10_000 })
  database.exec(
    `CREATE TRIGGER broken BEFORE INSERT ON history
     BEGIN SELECT RAISE(ABORT, 'the disk is full, says a test'); END;
     CREATE TRIGGER broken_jobs BEFORE INSERT ON store_job
     BEGIN SELECT RAISE(ABORT, 'the disk is full, says a test'); END`,
  )
}
