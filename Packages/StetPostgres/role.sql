-- Makes roles for the nodes of shared journals: stet_node appends to a journal, and can neither change
-- nor remove what is in it.
--
-- The owner of the tables runs this once, after the first node has been opened, or a store attached,
-- with the owner's role, which makes the tables. The same role detaches stores.
--
--     psql --single-transaction --file role.sql DATABASE
--
-- A role without a password can log in only if pg_hba.conf lets it, as with a client certificate.

CREATE ROLE stet_node LOGIN;
GRANT SELECT, UPDATE (revision, hash, fence) ON stet_head TO stet_node;
GRANT SELECT, INSERT ON stet_entry TO stet_node;
GRANT SELECT ON stet_base TO stet_node;

-- A node that also trims and redacts the journal, or renews the copy from which new nodes begin. One
-- such node is enough.

CREATE ROLE stet_keeper LOGIN;
GRANT stet_node TO stet_keeper;
GRANT UPDATE (bytes), DELETE ON stet_entry TO stet_keeper;
GRANT INSERT, DELETE ON stet_base TO stet_keeper;
