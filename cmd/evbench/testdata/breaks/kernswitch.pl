# A Linux switch whose routes and addresses are lines of files in $KS: kernswitch.pl NODE ip ARGUMENT…
use strict;
use Fcntl ':flock';
my ($node, undef, @args) = @ARGV;
open my $lock, '>>', "$ENV{KS}/lock.$node" or die $!;
flock $lock, LOCK_EX;

sub held {
	my ($file, %held) = ("$ENV{KS}/$_[0].$node");
	if (open my $in, '<', $file) { while (<$in>) { chomp; my ($key, $line) = split /\t/; $held{$key} = $line } }
	return ($file, \%held);
}
my ($routes, $route) = held('r');
my ($addresses, $address) = held('a');
if ("@args" =~ /route show/) { print map { "$route->{$_}\n" } sort keys %$route }
elsif ("@args" =~ /address$/) { print map { "1: $address->{$_} inet $_ scope global $address->{$_}\n" } sort keys %$address }
elsif ("@args" =~ /-batch/) {
	while (my $line = <STDIN>) {
		chomp $line;
		if ($line =~ /^route replace (\S+) (.*)/) { $route->{whole($1)} = "$1 " . words($2) }
		elsif ($line =~ /^route del (\S+)/) { delete $route->{whole($1)} }
		elsif ($line =~ /^address replace (\S+) .*?dev (\S+)/) { $address->{$1} = $2 }
		elsif ($line =~ /^address del (\S+)/) { delete $address->{$1} }
		elsif ($line !~ /^(#|$)/) { die "ip: $line" }
	}
	for ([$routes, $route], [$addresses, $address]) {
		open my $out, '>', $_->[0] or die $!;
		my $held = $_->[1];
		print $out map { "$_\t$held->{$_}\n" } sort keys %$held;
	}
}
sub whole { my ($p) = @_; $p =~ m{/|default} ? $p : "$p/32" }

# words are those of a route of one hop in the order in which the kernel has them.
sub words {
	my ($words) = @_;
	return $words if $words =~ /nexthop/;
	my %of = $words =~ /(via|dev|proto|scope|src|metric) (\S+)/g;
	return join(' ', (map { defined $of{$_} ? "$_ $of{$_}" : () } qw(via dev proto scope src metric)), $words =~ /onlink/ ? 'onlink' : ());
}
