package cluster

// DataKind says what a data directory holds.
type DataKind string

const (
	DataUnknown DataKind = ""        // nobody looked, or there is no hook
	DataEmpty   DataKind = "empty"   // no WAL: a start begins as a new member
	DataMember  DataKind = "member"  // a member's; the IDs say whose
	DataDamaged DataKind = "damaged" // something is there that cannot be read
)

// DataInfo is what one look into the joiner's data directory found.
type DataInfo struct {
	Kind      DataKind
	ClusterID ID // of DataMember
	MemberID  ID // of DataMember
	Snapshot  bool
	Reason    string // of DataDamaged
}
