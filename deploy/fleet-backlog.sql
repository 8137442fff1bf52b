-- The backlog of the fleet as one row, for what scales workers by SQL (the postgresql trigger of KEDA, a cron job, a dashboard).
--
--   psql "$HEDDLE_DATABASE" -f fleet-backlog.sql
--   sed 's/heddle\./other./g' fleet-backlog.sql | psql "$HEDDLE_DATABASE"        where the address says ?schema=other
--
-- Each server writes its part within two seconds of a change. A row that is older than 90 s is of a server that is gone.
--
--   waiting_jobs    attempts of jobs that wait for a worker
--   open_units      units of campaigns that no worker has
--   leases          pieces of work that workers have
--   idle_workers    claims that wait for work
--   servers         servers that report
CREATE OR REPLACE VIEW heddle.fleet_backlog AS
SELECT
  coalesce(sum("waitingJobs"), 0)::bigint AS waiting_jobs,
  coalesce(sum("openUnits"), 0)::bigint AS open_units,
  coalesce(sum(leases), 0)::bigint AS leases,
  coalesce(sum("waitingClaims"), 0)::bigint AS idle_workers,
  count(*) AS servers
FROM heddle.r_fleet_backlog
WHERE "writtenAt" > extract(epoch FROM now()) * 1000 - 90000;
